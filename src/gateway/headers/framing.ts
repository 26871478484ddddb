/** Values of framing and host headers that have one reading only (RFC 9112, 3.2 and 6). */

const LENGTH = /^(?:0|[1-9]\d{0,15})$/
/** A registered name, an IPv4 address or an IPv6 address in brackets, and a port (RFC 3986, 3.2.2). */
const HOST = /^(?:\[[0-9A-Fa-f:.]{2,45}\]|(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2}){1,255})(?::\d{0,5})?$/
const HOSTS_KNOWN_MAX = 1_024

/** Whether every reader takes a `Content-Length` for the same number: no sign, no leading zero, below 2^53. */
export function isPlainLength(value: string): boolean {
  return value === '0' || (LENGTH.test(value) && Number.isSafeInteger(Number(value)))
}

/** Returns a check whether a value can stand in `Host`. It remembers valid ones, up to a bound: most calls name one of a few. */
export function createHostCheck(): (value: string) => boolean {
  const known = new Set<string>()

  return (value) => {
    if (known.has(value)) return true
    if (!HOST.test(value)) return false
    if (known.size < HOSTS_KNOWN_MAX) known.add(value)
    return true
  }
}
