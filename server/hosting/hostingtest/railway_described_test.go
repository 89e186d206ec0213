package hostingtest_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"

	"coffer/server/hosting/hostingtest"
	"coffer/server/standin"
)

// railwayTypes are the types of Railway's schema by the names of their members,
// in the words of GraphQL.
type railwayTypes map[string]map[string]string

var (
	tsComment = regexp.MustCompile(`(?s)/\*\*.*?\*/`)
	tsType    = regexp.MustCompile(`(?ms)^type (\w+) = (?:\w+ & )*\{\n(.*?)^\};`)
	tsMember  = regexp.MustCompile(`(?m)^  (\w+)\??: (.*);$`)
	tsScalar  = regexp.MustCompile(`^Scalars\['(\w+)'\]\['(?:in|out)put'\]$`)
)

// readRailwayTypes reads what a generator made of the answer that Railway gave to
// questions for its schema.
func readRailwayTypes(text string) railwayTypes {
	all := railwayTypes{}
	for _, t := range tsType.FindAllStringSubmatch(tsComment.ReplaceAllString(text, ""), -1) {
		all[t[1]] = map[string]string{}
		for _, m := range tsMember.FindAllStringSubmatch(t[2], -1) {
			all[t[1]][m[1]] = graphqlType(m[2])
		}
	}
	return all
}

func graphqlType(ts string) string {
	for _, optional := range []string{"Maybe<", "InputMaybe<"} {
		if inner, ok := strings.CutPrefix(ts, optional); ok {
			return strings.TrimSuffix(graphqlType(strings.TrimSuffix(inner, ">")), "!")
		}
	}
	if inner, ok := strings.CutPrefix(ts, "Array<"); ok {
		return "[" + graphqlType(strings.TrimSuffix(inner, ">")) + "]!"
	}
	if m := tsScalar.FindStringSubmatch(ts); m != nil {
		return m[1] + "!"
	}
	return ts + "!"
}

// newer is what is known from Railway's own command line only, which asks for it.
var newer = []string{"Query.apiToken", "ApiTokenContext", "ApiTokenWorkspace"}

// TestRailwaysSchemaIsAsPublished holds the schema of the stand-in, which refuses
// what does not fit it, against types that were made from Railway's own.
func TestRailwaysSchemaIsAsPublished(t *testing.T) {
	files, err := filepath.Glob(standin.Described(t, "@crisog/railway-sdk", "dist", "graphql-*.d.ts"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the package @crisog/railway-sdk has the files %v with types, error %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	published, compared := readRailwayTypes(string(text)), 0
	for name, def := range hostingtest.RailwaySchema.Types {
		if def.BuiltIn || def.Kind == ast.Scalar || slices.Contains(newer, name) {
			continue
		}
		if def.Kind == ast.InputObject {
			wantArguments(t, name, published[name], inputs(def.Fields))
			compared++
			continue
		}
		for _, f := range def.Fields {
			at := name + "." + f.Name
			if strings.HasPrefix(f.Name, "__") || slices.Contains(newer, at) {
				continue
			}
			if got := published[name][f.Name]; got != f.Type.String() {
				t.Errorf("%s is %q, and published as %q", at, f.Type, got)
			}
			wantArguments(t, at, published[name+strings.ToUpper(f.Name[:1])+f.Name[1:]+"Args"], arguments(f.Arguments))
			compared++
		}
	}
	if compared < 60 {
		t.Errorf("%d members were compared, want more than 60", compared)
	}
}

func arguments(all ast.ArgumentDefinitionList) map[string]string {
	types := map[string]string{}
	for _, a := range all {
		types[a.Name] = a.Type.String()
	}
	return types
}

func inputs(all ast.FieldList) map[string]string {
	types := map[string]string{}
	for _, f := range all {
		types[f.Name] = f.Type.String()
	}
	return types
}

// wantArguments wants all of ours to be published so, and none that is required to
// be missing.
func wantArguments(t *testing.T, at string, published, ours map[string]string) {
	t.Helper()
	for name, kind := range ours {
		if published[name] != kind {
			t.Errorf("%s: %s is %q, and published as %q", at, name, kind, published[name])
		}
	}
	for name, kind := range published {
		if _, known := ours[name]; !known && strings.HasSuffix(kind, "!") {
			t.Errorf("%s: %s is required, and unknown to the stand-in", at, name)
		}
	}
}
