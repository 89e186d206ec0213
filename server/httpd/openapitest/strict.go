package openapitest

// The document leaves objects open: clients must pass over members that they
// do not know, so that the API can gain some. The tests close them: what the
// server sends must be described.

// close closes the objects of all answers.
func (d *document) close() {
	c := closer{d: d, done: make(map[string]bool)}
	components := d.root["components"].(object)
	for _, r := range components["responses"].(object) {
		c.answer(r)
	}
	for _, item := range d.root["paths"].(object) {
		for method, op := range item.(object) {
			if method == "parameters" {
				continue
			}
			for _, r := range op.(object)["responses"].(object) {
				c.answer(r)
			}
		}
	}
}

type closer struct {
	d    *document
	done map[string]bool
}

func (c *closer) answer(response any) {
	content, _ := response.(object)["content"].(object)
	for _, media := range content {
		c.value(media.(object)["schema"])
	}
}

// value closes a schema where it describes a whole value, and not a part of it
// that another schema completes.
func (c *closer) value(schema any) {
	s, ok := schema.(object)
	if !ok {
		return
	}
	if c.describesMembers(s) {
		s["unevaluatedProperties"] = false
	}
	c.within(s)
}

// describesMembers reports whether a schema names members, and says nothing of
// others.
func (c *closer) describesMembers(s object) bool {
	if s["additionalProperties"] != nil || s["unevaluatedProperties"] != nil {
		return false
	}
	if s["properties"] != nil {
		return true
	}
	if ref, ok := s["$ref"].(string); ok {
		target, _ := c.d.at(ref[1:]).(object)
		return c.describesMembers(target)
	}
	for _, word := range []string{"allOf", "oneOf", "anyOf"} {
		parts, _ := s[word].([]any)
		for _, part := range parts {
			if c.describesMembers(part.(object)) {
				return true
			}
		}
	}
	return false
}

// within closes the values inside of what a schema describes.
func (c *closer) within(s object) {
	if ref, ok := s["$ref"].(string); ok && !c.done[ref] {
		c.done[ref] = true
		c.within(c.d.at(ref[1:]).(object))
	}
	properties, _ := s["properties"].(object)
	for _, p := range properties {
		c.value(p)
	}
	c.value(s["items"])
	c.value(s["additionalProperties"])
	for _, word := range []string{"allOf", "oneOf", "anyOf"} {
		parts, _ := s[word].([]any)
		for _, part := range parts {
			c.within(part.(object))
		}
	}
}
