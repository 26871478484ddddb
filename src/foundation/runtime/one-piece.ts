/**
 * Returns a text of characters up to U+00FF as one string in memory. V8 keeps a joined text as a tree, and walks the tree of each
 * text that contains it when that is written. Worth its cost for a text that is kept.
 */
export function inOnePiece(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1')
}
