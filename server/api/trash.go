package api

// TrashedSecret is a deleted secret that can still be restored.
type TrashedSecret struct {
	ID            string `json:"id"`
	Key           string `json:"key"`
	Environment   string `json:"environment"`
	DeletedAt     Time   `json:"deletedAt"`
	ExpiresAt     Time   `json:"expiresAt"`
	DaysRemaining int    `json:"daysRemaining"`
}

// RestoredSecret answers the restoring of a secret from the trash.
type RestoredSecret struct {
	ID          string `json:"id"`
	Key         string `json:"key"`
	Environment string `json:"environment"`
	Message     string `json:"message"`
	CreatedAt   Time   `json:"createdAt"`
	UpdatedAt   Time   `json:"updatedAt"`
}

// EmptiedTrash answers the emptying of a vault's trash.
type EmptiedTrash struct {
	Deleted int    `json:"deleted"`
	Message string `json:"message"`
}
