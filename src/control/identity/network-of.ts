/** Returns the first half of an IPv6 address, because a host has a network of them, and an IPv4 address as it is. */
export function networkOf(address: string): string {
  if (!address.includes(':') || address.includes('.')) return address
  const [head = ''] = address.split('::', 1)
  return [...head.split(':'), '0', '0', '0', '0'].slice(0, 4).join(':')
}
