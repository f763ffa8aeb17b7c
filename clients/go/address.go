package ergon

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"os"
	"time"
)

// address is a URL, and what is needed to trust and to be trusted there.
type address struct {
	url, network, to, token string
	tls                     *tls.Config
}

func newAddress(from string, o *Options) (*address, error) {
	u, err := url.Parse(from)
	if err != nil {
		return nil, err
	}
	a := &address{url: from, network: "tcp", token: o.Token}
	ports := map[string]string{"ergon": "7466", "ergons": "7467"}
	switch {
	case u.Scheme == "unix" && u.Host == "" && len(u.Path) > 1:
		a.network, a.to = "unix", u.Path
	case ports[u.Scheme] != "" && u.Hostname() != "":
		port := u.Port()
		if port == "" {
			port = ports[u.Scheme]
		}
		a.to = net.JoinHostPort(u.Hostname(), port)
	default:
		return nil, fmt.Errorf("%s is neither ergon://host[:port] nor ergons://host[:port] nor unix:///path", from)
	}
	if u.Scheme == "ergons" {
		a.tls, err = tlsConfig(u.Hostname(), o)
	}
	return a, err
}

// tlsConfig: the server's name must stand among the subjectAltNames; for Go a common name is none.
func tlsConfig(host string, o *Options) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host}
	if o.ServerName != "" {
		config.ServerName = o.ServerName
	}
	if o.CA != "" {
		pem, err := os.ReadFile(o.CA)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s has no certificate", o.CA)
		}
	}
	if o.Cert != "" {
		key := o.Key
		if key == "" {
			key = o.Cert
		}
		pair, err := tls.LoadX509KeyPair(o.Cert, key)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

func (a *address) dial(ctx context.Context) (net.Conn, error) {
	dialer := net.Dialer{KeepAlive: 15 * time.Second}
	if a.tls == nil {
		return dialer.DialContext(ctx, a.network, a.to)
	}
	return (&tls.Dialer{NetDialer: &dialer, Config: a.tls}).DialContext(ctx, a.network, a.to)
}
