#!/bin/sh
# A small CA for trials. Its key lies beside what it signs: use your own CA, or SPIRE, for anything else.
#
#   ca.sh DIR init
#   ca.sh DIR server NAME HOST...   a replica, or an agent that listens on TCP: its names and addresses
#   ca.sh DIR client NAME           cn/NAME
#   ca.sh DIR client spiffe://...   the SPIFFE identity; files are called after its last part
#
# NAME.pem and NAME-key.pem are put in place whole, so that running it again renews a certificate
# under a program that runs. DAYS (default 30) says how long one is good.
set -eu
umask 077

fail() {
    echo "ca.sh: $1" >&2
    exit 2
}

[ $# -ge 2 ] || fail "want DIR and one of init, server, client: see the head of this file"
dir=$1
what=$2
shift 2
days=${DAYS:-30}

init() {
    mkdir -p "$dir"
    [ ! -e "$dir/ca-key.pem" ] || fail "$dir/ca-key.pem is there already"
    openssl req -x509 -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -sha256 -days 3650 \
        -subj "/CN=Pointsman trial CA" -addext "basicConstraints=critical,CA:TRUE,pathlen:0" \
        -addext "keyUsage=critical,keyCertSign,cRLSign" \
        -keyout "$dir/ca-key.pem" -out "$dir/ca.pem" 2>/dev/null
    chmod 644 "$dir/ca.pem"
}

# issue FILE NAME USAGES ALTERNATIVES
issue() {
    [ -e "$dir/ca-key.pem" ] || fail "no CA in $dir: ca.sh $dir init"
    work=$(mktemp -d "$dir/.issue.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    {
        echo "basicConstraints=critical,CA:FALSE"
        echo "keyUsage=critical,digitalSignature"
        echo "extendedKeyUsage=$3"
        [ -z "$4" ] || echo "subjectAltName=$4"
    } >"$work/ext"
    openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -sha256 -subj "/CN=$2" \
        -keyout "$work/key" -out "$work/csr" 2>/dev/null
    openssl x509 -req -in "$work/csr" -CA "$dir/ca.pem" -CAkey "$dir/ca-key.pem" -set_serial "0x$(openssl rand -hex 15)" \
        -sha256 -days "$days" -extfile "$work/ext" -out "$work/cert" 2>/dev/null
    chmod 644 "$work/cert"
    mv "$work/key" "$dir/$1-key.pem"
    mv "$work/cert" "$dir/$1.pem"
}

# plain NAME: what may be part of a file's name and a subject
plain() {
    case $1 in
    '' | [!a-zA-Z0-9]* | *[!a-zA-Z0-9._-]*) fail "name \"$1\": want letters, digits, \".\", \"_\" and \"-\", the first no sign" ;;
    esac
}

case $what in
init)
    init
    ;;
server)
    [ $# -ge 2 ] || fail "want NAME and its hosts: names and addresses"
    name=$1
    plain "$name"
    shift
    hosts=
    for host; do
        case $host in
        '' | *[!a-zA-Z0-9.:*-]*) fail "host \"$host\": want a name or an address" ;;
        *:* | [0-9]*.[0-9]*.[0-9]*.*[0-9]) hosts="$hosts,IP:$host" ;;
        *) hosts="$hosts,DNS:$host" ;;
        esac
    done
    issue "$name" "$name" "serverAuth,clientAuth" "${hosts#,}"
    ;;
client)
    [ $# -eq 1 ] || fail "want one NAME, or one spiffe://..."
    case $1 in
    spiffe://*)
        name=${1##*/}
        plain "$name"
        case $1 in *[!a-zA-Z0-9._:/-]*) fail "\"$1\" is no SPIFFE identity" ;; esac
        issue "$name" "$name" clientAuth "URI:$1"
        ;;
    *)
        plain "$1"
        issue "$1" "$1" clientAuth ""
        ;;
    esac
    ;;
*)
    fail "\"$what\": want one of init, server, client"
    ;;
esac
