/**
 * The name of the API that a document is for, as the service derives it. Only the lines of the head are read, while a person types; the
 * service decides.
 */

const TITLE = /^\s*"?title"?\s*:\s*(.+)$/m
const VERSION = /^\s*"?version"?\s*:\s*["']?v?(\d+)/m
const NAMED = /^\s*"?x-tollgate-name"?\s*:\s*["']?([a-z0-9-]+)/m
const HEAD_LENGTH_MAX = 20_000

/** Returns `''` if the document does not say. */
export function readName(document: string): string {
  const head = infoOf(document.slice(0, HEAD_LENGTH_MAX))
  const major = VERSION.exec(head)?.[1]
  const title = (NAMED.exec(document.slice(0, HEAD_LENGTH_MAX)) ?? TITLE.exec(head))?.[1] ?? ''
  const name = title
    .trim()
    .replace(/,$/, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
  return name === '' || major === undefined ? '' : `${name}-v${major}`
}

/** JSON on one line has no lines to read. */
function infoOf(head: string): string {
  const at = head.search(/^\s*"?info"?\s*:|\{\s*"info"|,\s*"info"/m)
  const info = at === -1 ? '' : head.slice(at)
  return head.includes('\n') ? info.replace(/^.*?info"?\s*:/s, '') : info.replaceAll(/[{,]\s*(?=")/g, '\n')
}
