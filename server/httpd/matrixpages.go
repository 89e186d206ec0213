package httpd

import (
	"net/url"

	"coffer/server/api"
	"coffer/server/warden"
	"coffer/web"
)

// matrixRows is how many keys one page of a matrix shows.
const matrixRows = 500

// matrixRequest is what the address of a matrix says.
type matrixRequest struct {
	api.Ref
	Query  string `query:"q"`
	Show   string `query:"show"`
	Offset int    `query:"offset"`
}

// Check lets a filter through that exists.
func (r matrixRequest) Check(f *api.Fields) {
	r.Ref.Check(f)
	if r.Offset < 0 {
		f.Add("offset", api.TooSmall, "At least 0.")
	}
	for _, known := range matrixFilters {
		if r.Show == known.show {
			return
		}
	}
	f.Add("show", api.UnknownValue, "One of missing, differs or changed.")
}

var matrixFilters = []struct {
	show, name string
	count      func(*warden.Matrix) int
}{
	{"", "All", func(m *warden.Matrix) int { return m.All }},
	{warden.MatrixMissing, "Missing somewhere", func(m *warden.Matrix) int { return m.Missing }},
	{warden.MatrixDiffers, "Different values", func(m *warden.Matrix) int { return m.Differs }},
	{warden.MatrixChanged, "Changed this week", func(m *warden.Matrix) int { return m.Changed }},
}

// matrix is the first page of a vault.
func matrix(x *exchange, v *api.Vault) (web.Page, error) {
	p := web.Matrix{Frame: x.frame(), ReadOnly: x.readOnly(v), Gone: v.Permission == nil, Now: x.Now()}
	if p.Gone {
		return p, nil
	}
	req, err := asked[matrixRequest](x)
	if err != nil {
		return nil, err
	}
	m, err := x.Warden.Matrix(x.ctx, x.who, warden.MatrixQuery{
		Ref: req.Ref, Query: req.Query, Show: req.Show, Limit: matrixRows, Offset: req.Offset,
	})
	if err != nil {
		return nil, err
	}
	p.Search = web.Search{At: p.Inside.At, Label: "Search keys", Query: req.Query}
	if req.Show != "" {
		p.Search.Keep = []web.Kept{{Name: "show", Value: req.Show}}
	}
	p.Filters = filters(p.Inside.At, req, m)
	for _, c := range m.Columns {
		p.Columns = append(p.Columns, web.MatrixColumn{Name: c.Name, Type: c.Type, Secrets: c.Secrets, CanWrite: c.CanWrite, Revision: c.Revision})
	}
	for _, r := range m.Rows {
		p.Rows = append(p.Rows, matrixRow(m.Columns, r))
	}
	p.Pager = x.pager(matrixRows, req.Offset, len(m.Rows), m.Total)
	return p, nil
}

// filters lead to the parts of the matrix that is searched for.
func filters(at string, req *matrixRequest, m *warden.Matrix) []web.Filter {
	var all []web.Filter
	for _, f := range matrixFilters {
		q := make(url.Values)
		for name, value := range map[string]string{"q": req.Query, "show": f.show} {
			if value != "" {
				q.Set(name, value)
			}
		}
		all = append(all, web.Filter{Name: f.name, Path: withQuery(at, q), Count: f.count(m), Current: f.show == req.Show})
	}
	return all
}

func matrixRow(columns []warden.MatrixColumn, r warden.MatrixRow) web.MatrixRow {
	row := web.MatrixRow{Key: r.Key, Differs: r.Differs}
	for i, c := range r.Cells {
		cell := web.MatrixCell{Environment: columns[i].Name, Secret: c.SecretID, Updated: c.Updated, By: c.By, Changed: c.Changed}
		if c.Same > 0 {
			cell.Same = letter(c.Same)
		}
		row.Cells = append(row.Cells, cell)
	}
	return row
}

// letter names the nth thing of a few: A to Z, then AA.
func letter(n int) string {
	text := ""
	for ; n > 0; n = (n - 1) / 26 {
		text = string(rune('A'+(n-1)%26)) + text
	}
	return text
}
