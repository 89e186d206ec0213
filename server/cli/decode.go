package cli

import (
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"coffer/server"
	"coffer/server/api"
)

var errOneValue = errors.New("takes one value")

// read puts a raw value, from YAML or as text, into the settings.
func (s setting) read(raw any, out *settings) error {
	if s.price != nil {
		price := *s.price
		err := s.decode(raw, reflect.ValueOf(&price.Price).Elem())
		if price.Price != "" {
			out.PlanPrices = append(out.PlanPrices, price)
		}
		return err
	}
	if s.cell == nil {
		return s.decode(raw, reflect.ValueOf(out).Elem().Field(s.index))
	}
	cell := *s.cell
	if err := s.decode(raw, reflect.ValueOf(&cell.Value).Elem()); err != nil {
		return err
	}
	out.PlanLimits = append(out.PlanLimits, cell)
	return server.CheckPlanLimit(cell)
}

// decode puts a raw value, from YAML or as text, into a field.
func (s setting) decode(raw any, field reflect.Value) error {
	if texts, ok := field.Addr().Interface().(*[]string); ok {
		list, err := textList(raw)
		*texts = list
		return err
	}
	if prefixes, ok := field.Addr().Interface().(*[]netip.Prefix); ok {
		return decodePrefixes(raw, prefixes)
	}
	switch raw.(type) {
	case []any, map[string]any:
		return errOneValue
	case nil:
		raw = ""
	}
	text := fmt.Sprint(raw)
	var err error
	switch p := field.Addr().Interface().(type) {
	case *string:
		*p = text
	case *int:
		if *p, err = strconv.Atoi(text); err != nil {
			err = fmt.Errorf("%q is no whole number", text)
		}
	case *int64:
		if *p, err = parseSize(text); err != nil {
			err = fmt.Errorf("%q %w", text, err)
		}
	case *server.Rate:
		*p, err = server.ParseRate(text)
	case *retention:
		if *p, err = parseRetention(text); err != nil {
			err = fmt.Errorf("%q %w", text, err)
		}
	case *time.Duration:
		if *p, err = parseDuration(text); err != nil {
			err = fmt.Errorf("%q %w", text, err)
		}
	}
	if err == nil && s.oneOf != nil && !slices.Contains(s.oneOf, text) {
		err = fmt.Errorf("%q is none of %s", text, strings.Join(s.oneOf, ", "))
		if near := nearest(text, s.oneOf, 3); near != "" {
			err = fmt.Errorf("%w; the nearest is %s", err, near)
		}
	}
	return err
}

// textList reads a YAML list, or a text with commas.
func textList(raw any) ([]string, error) {
	list := []string{}
	switch raw := raw.(type) {
	case nil:
	case []any:
		for _, item := range raw {
			text, ok := item.(string)
			if !ok {
				return nil, fmt.Errorf("%v is no text", item)
			}
			list = append(list, text)
		}
	case string:
		for text := range strings.SplitSeq(raw, ",") {
			if text = strings.TrimSpace(text); text != "" {
				list = append(list, text)
			}
		}
	default:
		return nil, fmt.Errorf("%v is no list", raw)
	}
	return list, nil
}

func decodePrefixes(raw any, out *[]netip.Prefix) error {
	texts, err := textList(raw)
	if err != nil {
		return err
	}
	for _, text := range texts {
		p, err := api.ParseSource(text)
		if err != nil {
			return fmt.Errorf("%q is no address; write it like 10.0.0.0/8 or 192.0.2.7", text)
		}
		*out = append(*out, p)
	}
	return nil
}
