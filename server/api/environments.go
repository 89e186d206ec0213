package api

// EnvironmentDetail is one environment of a vault. Revision grows by one with
// each request that changes its active keys or values.
type EnvironmentDetail struct {
	Name         string `json:"name"`
	Type         string `json:"type"`
	DisplayOrder int    `json:"displayOrder"`
	Revision     uint64 `json:"revision"`
	SecretCount  int    `json:"secretCount"`
}

// Environments is the list of a vault's environments.
type Environments struct {
	Environments []EnvironmentDetail `json:"environments"`
}

// CreateEnvironment asks for a new environment. Without a type it is inferred
// from the name.
type CreateEnvironment struct {
	Ref
	Name string  `json:"name" need:"true"`
	Type *string `json:"type"`
}

// Check holds name and type against their rules.
func (r CreateEnvironment) Check(f *Fields) {
	r.Ref.Check(f)
	f.environment("name", r.Name)
	if r.Type != nil {
		checkType(f, *r.Type)
	}
}

func checkType(f *Fields, v string) {
	f.oneOf("type", v, "protected", "standard", "development")
}

// CreatedEnvironment answers the making of an environment.
type CreatedEnvironment struct {
	Environment  EnvironmentDetail   `json:"environment"`
	Environments []EnvironmentDetail `json:"environments"`
}

// Created says that something new was made; an environment has no address of its own.
func (CreatedEnvironment) Created() (bool, string) { return true, "" }

// EnvironmentRef names an environment in a path.
type EnvironmentRef struct {
	Ref
	Environment string `path:"name"`
}

// Check holds the repository's name against its rule. An environment that
// cannot exist is simply not found.
func (r EnvironmentRef) Check(f *Fields) { r.Ref.Check(f) }

// RenameEnvironment asks for another name.
type RenameEnvironment struct {
	EnvironmentRef
	NewName string `json:"newName" need:"true"`
}

// Check holds the new name against its rule.
func (r RenameEnvironment) Check(f *Fields) {
	r.EnvironmentRef.Check(f)
	f.environment("newName", r.NewName)
}

// RenamedEnvironment answers a renaming.
type RenamedEnvironment struct {
	OldName      string              `json:"oldName"`
	NewName      string              `json:"newName"`
	Environments []EnvironmentDetail `json:"environments"`
}

// DeletedEnvironment answers the removal of an environment.
type DeletedEnvironment struct {
	Deleted      string              `json:"deleted"`
	Environments []EnvironmentDetail `json:"environments"`
}

// RetypeEnvironment asks for another type.
type RetypeEnvironment struct {
	EnvironmentRef
	Type string `json:"type" need:"true"`
}

// Check holds the type against the three there are.
func (r RetypeEnvironment) Check(f *Fields) {
	r.EnvironmentRef.Check(f)
	checkType(f, r.Type)
}

// RetypedEnvironment answers a change of type.
type RetypedEnvironment struct {
	Environment string `json:"environment"`
	OldType     string `json:"oldType"`
	NewType     string `json:"newType"`
}

// MoveEnvironment asks for another place in the order in which environments are
// shown: the one of the environment that has this displayOrder now.
type MoveEnvironment struct {
	EnvironmentRef
	DisplayOrder int `json:"displayOrder" need:"true"`
}

// Check holds the place against the first there is. Which is the last, only the
// vault can tell.
func (r MoveEnvironment) Check(f *Fields) {
	r.EnvironmentRef.Check(f)
	f.between("displayOrder", &r.DisplayOrder, 0, 1<<31-1)
}

// MovedEnvironment answers a change of the order.
type MovedEnvironment struct {
	Environment  string              `json:"environment"`
	OldOrder     int                 `json:"oldOrder"`
	NewOrder     int                 `json:"newOrder"`
	Environments []EnvironmentDetail `json:"environments"`
}
