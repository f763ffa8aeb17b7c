// An order and the task that mails its receipt, in one transaction: both, or neither.
//
//	psql -c "CREATE TABLE orders (id serial PRIMARY KEY, item text, mail text)"
//	go run order.go postgresql://shop@db1/shop "a book" alice@example.org
package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"log"
	"os"

	_ "github.com/lib/pq" // Debian: golang-github-lib-pq-dev
)

// place returns the key by which clients of Ergon find the task.
func place(db *sql.DB, item, mail string) (key string, err error) {
	tx, err := db.Begin()
	if err != nil {
		return "", err
	}
	defer tx.Rollback() // nothing, once it is committed
	var number int
	err = tx.QueryRow("INSERT INTO orders (item, mail) VALUES ($1, $2) RETURNING id", item, mail).Scan(&number)
	if err != nil {
		return "", err
	}
	params, err := json.Marshal([]any{number, mail})
	if err != nil {
		return "", err
	}
	err = tx.QueryRow("SELECT ergon.submit('mail.receipt', $1, $2)", params, `{"retries": 5, "delay": "2s"}`).Scan(&key)
	if err != nil {
		return "", err
	}
	return key, tx.Commit()
}

func main() {
	db, err := sql.Open("postgres", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	key, err := place(db, os.Args[2], os.Args[3])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(key)
}
