package hostingtest

import (
	_ "embed" // for the schema
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"coffer/server/standin"
)

//go:embed railway.graphql
var railwaySDL string

// RailwaySchema is the part of Railway's schema that the stand-in knows.
var RailwaySchema = gqlparser.MustLoadSchema(&ast.Source{Name: "railway.graphql", Input: railwaySDL})

// railwayError is an error in Railway's words.
type railwayError struct{ message, code string }

func (e railwayError) Error() string { return e.message }

// errors that operations end with.
var errRailwayDenied = railwayError{"Not Authorized", "INTERNAL_SERVER_ERROR"}

func railwayMissing(what string) error {
	return railwayError{what + " not found", "INTERNAL_SERVER_ERROR"}
}

func railwayBad(why string) error { return railwayError{why, "BAD_USER_INPUT"} }

// refuse answers with one error, and no data.
func (r *Railway) refuse(rw http.ResponseWriter, status int, err error) {
	said := railwayError{err.Error(), "INTERNAL_SERVER_ERROR"}
	_ = errors.As(err, &said) // another error is an internal one
	standin.Answer(rw, status, map[string]any{"data": nil, "errors": []any{map[string]any{
		"message": said.message, "traceId": fmt.Sprintf("trace-%d", r.last), "extensions": map[string]any{"code": said.code},
	}}})
}

// graphql carries out an operation, if it and its variables fit the schema.
func (r *Railway) graphql(rw http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rw.Header().Set("X-Railway-Request-Id", r.id())
	if req.URL.RawQuery == "" { // the firewall
		rw.Header().Set("Content-Type", "text/html")
		rw.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(rw, "<title>You are being rate limited</title>") // a client that left is no concern of ours
		return
	}
	var body struct {
		Query         string
		OperationName string
		Variables     map[string]any
	}
	in := json.NewDecoder(req.Body)
	in.DisallowUnknownFields()
	if err := in.Decode(&body); err != nil || req.Header.Get("Content-Type") != "application/json" {
		r.refuse(rw, http.StatusBadRequest, railwayBad("The body is no operation."))
		return
	}
	doc, wrong := gqlparser.LoadQueryWithRules(RailwaySchema, body.Query, rules.NewDefaultRules())
	if len(wrong) > 0 {
		code := "GRAPHQL_VALIDATION_FAILED"
		if wrong[0].Rule == "" {
			code = "GRAPHQL_PARSE_FAILED"
		}
		r.refuse(rw, http.StatusBadRequest, railwayError{wrong[0].Message, code})
		return
	}
	op := doc.Operations.ForName(body.OperationName)
	if op == nil {
		r.refuse(rw, http.StatusBadRequest, railwayBad("There is no such operation."))
		return
	}
	variables, err := validator.VariableValues(RailwaySchema, op, body.Variables)
	if err != nil {
		r.refuse(rw, http.StatusBadRequest, railwayBad(err.Error()))
		return
	}
	x := railwayRun{r, r.asker(req), variables}
	root := map[ast.Operation]map[string]any{ast.Query: x.query(), ast.Mutation: x.mutation()}[op.Operation]
	data, err := x.object(op.SelectionSet, root)
	if err != nil {
		r.refuse(rw, http.StatusOK, err)
		return
	}
	standin.Answer(rw, http.StatusOK, map[string]any{"data": data})
}

// asker is the token that a request has in the right header, if it is any good.
func (r *Railway) asker(req *http.Request) *railwayToken {
	one := req.Header.Get("Project-Access-Token")
	text, _ := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer ")
	if one != "" {
		text = one
	}
	t := r.tokens[text]
	if t == nil || t.dead || t.grant != nil && t.grant.over || !t.expires.IsZero() && !r.now().Before(t.expires) || (one != "") != (t.project != "") {
		return nil
	}
	return t
}

// railwayRun is an operation as it is carried out for somebody. Objects are maps,
// and what has arguments, or costs something, is a function.
type railwayRun struct {
	r         *Railway
	who       *railwayToken // nil is nobody
	variables map[string]any
}

type railwayField = func(args map[string]any) (any, error)

// object selects from an object. The first error ends all of it: nothing that can
// fail may be null.
func (x railwayRun) object(set ast.SelectionSet, from map[string]any) (map[string]any, error) {
	out := map[string]any{}
	for _, s := range set {
		switch s := s.(type) {
		case *ast.FragmentSpread:
			some, err := x.object(s.Definition.SelectionSet, from)
			if err != nil {
				return nil, err
			}
			for name, value := range some {
				out[name] = value
			}
		case *ast.Field:
			value, there := from[s.Name]
			if !there {
				panic("hostingtest: the stand-in for Railway has no " + s.Name)
			}
			if field, ok := value.(railwayField); ok {
				var err error
				if value, err = field(s.ArgumentMap(x.variables)); err != nil {
					return nil, err
				}
			}
			value, err := x.complete(s.Definition.Type, s.SelectionSet, value)
			if err != nil {
				return nil, err
			}
			out[s.Alias] = value
		}
	}
	return out, nil
}

// complete is a value as its type says.
func (x railwayRun) complete(t *ast.Type, set ast.SelectionSet, value any) (any, error) {
	switch v := value.(type) {
	case nil:
		if t.NonNull {
			panic("hostingtest: the stand-in for Railway answers null for " + t.String())
		}
		return nil, nil
	case []map[string]any:
		out := []any{}
		for _, one := range v {
			some, err := x.object(set, one)
			if err != nil {
				return nil, err
			}
			out = append(out, some)
		}
		return out, nil
	case map[string]any:
		if len(set) > 0 {
			return x.object(set, v)
		}
	}
	return value, nil
}
