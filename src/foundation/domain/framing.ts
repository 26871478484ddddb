/** Checks for values of framing and host headers that every implementation reads in the same way (RFC 9112, 3.2 and 6). */

const LENGTH = /^(?:0|[1-9]\d{0,15})$/
/** A registered name, an IPv4 address or an IPv6 address in brackets, and a port (RFC 3986, 3.2.2). */
const HOST = /^(?:\[[0-9A-Fa-f:.]{2,45}\]|(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2}){1,255})(?::\d{0,5})?$/
const CACHED_HOSTS_MAX = 1_024

/** Whether a `Content-Length` is unambiguous: no sign, no leading zero, below 2^53. */
export function isPlainLength(value: string): boolean {
  return value === '0' || (LENGTH.test(value) && Number.isSafeInteger(Number(value)))
}

/** Returns a check for the value of `Host`. It caches up to a bound of valid values, since most calls use one of a few. */
export function createHostCheck(): (value: string) => boolean {
  const valid = new Set<string>()

  return (value) => {
    if (valid.has(value)) return true
    if (!HOST.test(value)) return false
    if (valid.size < CACHED_HOSTS_MAX) valid.add(value)
    return true
  }
}
