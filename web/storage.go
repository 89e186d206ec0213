package web

import (
	"fmt"
	"time"
)

// Storage is the data file, with what was erased.
type Storage struct {
	Frame
	Tabs     []Place
	Size     int64    // bytes in the file
	Free     int64    // of that, what will be reused
	Room     int64    // what the disk has left; -1 when that is not known
	Copies   []string // names of files that hold older data
	Last     *Compaction
	Running  *Compaction
	Erasures []Erasure
	Compact  Form
	Erase    Form
}

// Compaction is one writing anew of the data file.
type Compaction struct {
	At            time.Time // when it ended, or began if it runs
	Before, After int64
	Copied, All   int64
	Error         string // or ""
}

// Erasure is a vault that was erased.
type Erasure struct {
	ID, Vault string
	At        time.Time
	By        string // or ""
	Receipt   bool
}

func (Storage) file() string { return "operator_storage.html" }

// Title is the page's title.
func (Storage) Title() string { return "Storage" }

// bytesText is a number of bytes for people.
func bytesText(n int64) string {
	unit, names := int64(1), []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	for len(names) > 1 && n >= unit<<10 {
		unit, names = unit<<10, names[1:]
	}
	if unit == 1 || n%unit == 0 || n/unit >= 100 {
		return fmt.Sprintf("%d %s", n/unit, names[0])
	}
	return fmt.Sprintf("%.1f %s", float64(n)/float64(unit), names[0])
}
