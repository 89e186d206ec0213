package httpd

import (
	"fmt"
	"net/url"
	"time"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/web"
)

const backupsPage = operatorPath + "/backups"

// backupPages are about the backups of the server, for whoever runs it.
func backupPages() []route {
	return []route{
		{method: get, path: backupsPage, bucket: inGeneral, run: signedIn(showBackups)},
		{method: post, path: backupsPage, bucket: inGeneral, run: act(doBackups)},
		{method: post, path: backupsPage + "/new", action: access.BackupCreate, bucket: inGeneral, run: act(downloadNew)},
	}
}

func showBackups(x *exchange) (web.Page, error) {
	kept, err := x.Warden.KeptBackups(x.ctx, x.who, api.ListBackups{})
	if err != nil {
		return nil, err
	}
	p := web.Backups{
		Frame: x.frame(), Tabs: x.operatorTabs(), Now: x.Now(), Where: kept.Where, Passphrase: kept.Passphrase,
		Every: interval(kept.EverySeconds), DrillEvery: interval(kept.DrillEverySeconds),
		Keep: kept.Keep, Days: kept.KeepDays, Weeks: kept.KeepWeeks,
	}
	if kept.Problem != nil {
		p.Problem = *kept.Problem
	}
	if last := kept.Last; last != nil {
		p.Tried = last.EndedAt.Time
		p.Failure, p.NotThinned = textOf(last.Error), textOf(last.NotThinned)
	}
	if good := kept.LastGood; good != nil {
		p.Made = good.EndedAt.Time
	}
	if d := kept.Drill; d != nil {
		p.Drill = &web.BackupDrill{At: d.At.Time, Name: textOf(d.Name), Restores: d.Restores, Reason: textOf(d.Reason), Found: d.Found, Good: textOf(d.LastGood)}
	}
	for _, b := range kept.Backups {
		row := web.KeptBackup{Name: b.Name, Made: b.CreatedAt.Time, Size: sizeInWords(b.Size), Path: backupPath + "/" + b.Name}
		row.Tried = p.Drill != nil && p.Drill.Good == b.Name
		p.Rows = append(p.Rows, row)
	}
	return p, nil
}

// interval is a time between two runs in words.
func interval(seconds int64) string {
	const day = 24 * 3600
	if seconds > day && seconds%day == 0 {
		return fmt.Sprintf("%d days", seconds/day)
	}
	if seconds == day {
		return "day"
	}
	return short(time.Duration(seconds) * time.Second)
}

func textOf(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// sizeInWords is a number of bytes for people.
func sizeInWords(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d bytes", n)
	}
	size, units := float64(n)/unit, "KMGT"
	i := 0
	for ; size >= unit && i < len(units)-1; i++ {
		size /= unit
	}
	return fmt.Sprintf("%.1f %ciB", size, units[i])
}

// doBackups makes a backup where they are kept, or tries one.
func doBackups(x *exchange, form url.Values) error {
	job, said := "backups", backupRun
	switch form.Get("do") {
	case "backup":
	case "drill":
		job, said = "drill", drillRun
	default:
		return errNoDeed
	}
	if err := x.gate.Admit(x.ctx, x.who, access.JobRun, ""); err != nil {
		return err
	}
	ran, err := x.runJob(job)
	if err != nil {
		return err
	}
	if !ran.Running && ran.LastError != nil {
		x.leadTo(backupsPage) // which says why
		return nil
	}
	x.done(backupsPage, said)
	return nil
}

// downloadNew answers with a new backup. As a route with an action it may take as
// long as it takes.
func downloadNew(x *exchange, _ url.Values) error {
	if err := x.gate.Admit(x.ctx, x.who, access.BackupCreate, ""); err != nil {
		return err
	}
	return x.sendBackup(api.NewBackup{})
}
