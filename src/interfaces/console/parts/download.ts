/** Saves what the page has as a file. */

/** Characters that a file system may refuse, or read as a path. */
const UNSAFE = /[^\p{L}\p{N} ._-]+/gu
const NAME_MAX = 80

export function saveText(name: string, text: string): void {
  saveBlob(name, new Blob([text], { type: 'text/csv;charset=utf-8' }))
}

export function saveBlob(name: string, blob: Blob): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(blob)
  const [, stem = '', ending = ''] = /^(.*?)(\.\w+)?$/.exec(name) ?? []
  link.download = stem.replaceAll(UNSAFE, '-').slice(0, NAME_MAX) + ending
  link.click()
  // The browser has begun to read it.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}
