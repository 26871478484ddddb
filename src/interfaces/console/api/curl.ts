/** Calls of the platform API as lines of curl. */

import type { MadeCall } from './script.ts'

export function toCurl({ method, url, body }: MadeCall): string {
  const parts = ['curl', '-H \'authorization: Bearer \'"$TOKEN"']
  if (method !== 'GET') parts.push(`-X ${method}`)
  if (body !== null) parts.push("-H 'content-type: application/json'", `-d ${quote(body)}`)
  return [...parts, quote(location.origin + url)].join(' ')
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
