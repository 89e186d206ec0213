package web

import "time"

var backupSamples = map[string]Page{
	"backups nowhere": Backups{Frame: Frame{User: "ann", Operator: true}, Tabs: operatorTabs},
	"backups": Backups{Tabs: operatorTabs, Now: someDay.Add(time.Hour), Where: "/mnt/backups", Every: "day", DrillEvery: "7 days", Keep: 7, Days: 7, Weeks: 4,
		Tried: someDay, Made: someDay, Drill: &BackupDrill{At: someDay, Name: "a", Restores: true, Found: "3 vaults", Good: "a"},
		Rows: []KeptBackup{{Name: "b", Made: someDay, Size: "1.0 MiB", Path: "/v1/operator/backups/b"}, {Name: "a", Made: someDay, Size: "3 bytes", Tried: true, Path: "/v1/operator/backups/a"}}},
	"backups none yet": Backups{Where: "s3://bucket/x", Every: "6h", DrillEvery: "7 days", Keep: 1},
	"backups in need": Backups{Where: "s3://bucket/x", Every: "day", DrillEvery: "day", Keep: 1, Passphrase: true, Tried: someDay, Failure: "It is full.", NotThinned: "No.",
		Problem: "What is there is not known.", Drill: &BackupDrill{At: someDay, Reason: "It is damaged.", Good: "a"}},
}

var backupEvils = map[string]Page{
	"backups": Backups{Tabs: []Place{{evil, evil, evil}}, Where: evil, Every: evil, DrillEvery: evil, Failure: evil, NotThinned: evil,
		Drill: &BackupDrill{Name: evil, Reason: evil, Found: evil, Good: evil}, Rows: []KeptBackup{{Name: evil, Size: evil, Path: evil}}},
	"backups in need": Backups{Where: evil, Problem: evil, Drill: &BackupDrill{Restores: true, Found: evil}},
}
