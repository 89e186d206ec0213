package access

import (
	"fmt"
	"strings"
)

// EnvType says how guarded an environment is. The zero value is no type, and
// is treated as Protected.
type EnvType uint8

// Environment types, least protected first.
const (
	Development EnvType = iota + 1
	Standard
	Protected
)

var envTypeNames = [...]string{"", "development", "standard", "protected"}

// EnvTypes returns all types, least protected first.
func EnvTypes() []EnvType { return []EnvType{Development, Standard, Protected} }

// Infer returns the type that an environment's name suggests, of ours at its
// creation or of a hosting provider's.
func Infer(name string) EnvType {
	switch strings.ToLower(name) {
	case "production", "prod", "main", "master":
		return Protected
	case "development", "dev", "local":
		return Development
	}
	return Standard
}

// String returns the wire name.
func (t EnvType) String() string {
	if t >= Development && t <= Protected {
		return envTypeNames[t]
	}
	return fmt.Sprintf("envtype(%d)", uint8(t))
}

// ParseEnvType reads a wire name.
func ParseEnvType(name string) (EnvType, error) {
	for _, t := range EnvTypes() {
		if envTypeNames[t] == name {
			return t, nil
		}
	}
	return 0, fmt.Errorf("no environment type %q: one of protected, standard, development", name)
}

// MarshalText writes the wire name, so that an EnvType can be a key of a JSON object.
func (t EnvType) MarshalText() ([]byte, error) {
	if t < Development || t > Protected {
		return nil, fmt.Errorf("access: no wire name for %s", t)
	}
	return []byte(t.String()), nil
}

// UnmarshalText reads a wire name.
func (t *EnvType) UnmarshalText(text []byte) (err error) {
	*t, err = ParseEnvType(string(text))
	return err
}

// effective makes an unknown type the most guarded one.
func (t EnvType) effective() EnvType {
	if t < Development || t > Protected {
		return Protected
	}
	return t
}

// SyncNeedsAdmin reports whether values that flow from a source to a target
// environment enter a more protected one, which only an admin may do.
func SyncNeedsAdmin(source, target EnvType) bool {
	// An unknown type on either side must not make the step look smaller.
	if source < Development || source > Protected {
		return target.effective() > Development
	}
	return target.effective() > source
}
