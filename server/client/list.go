package client

import "coffer/server/api"

// Drain asks for page after page and returns the whole list.
//
//	all, err := client.Drain(func(p api.Page) (*api.List[api.Vault], error) { return c.Vaults(ctx, p) })
func Drain[T any](fetch func(api.Page) (*api.List[T], error)) ([]T, error) {
	var all []T
	limit := api.MaxPage
	for {
		offset := len(all)
		page, err := fetch(api.Page{Limit: &limit, Offset: &offset})
		if err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if len(page.Items) == 0 || len(all) >= page.Total {
			return all, nil
		}
	}
}
