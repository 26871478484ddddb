/**
 * CSV (RFC 4180) that a spreadsheet can open without harm: a text that begins like a formula gets a
 * quote in front, because names of consumers come from strangers.
 */

export function toCsv(columns: readonly string[], rows: readonly Readonly<Record<string, unknown>>[]): string {
  const lines = rows.map((row) => columns.map((column) => toCell(row[column])).join(','))
  return [columns.join(','), ...lines].map((line) => `${line}\r\n`).join('')
}

/** Also the full-width forms, and after blanks: some programs take them for the same. */
const FORMULA = /^\s*[=+\-@\t\r\n|%＝＋－＠]/
const NUMBER = /^-?\d+(\.\d+)?$/

function toCell(value: unknown): string {
  const text = value === null || value === undefined ? '' : String(value)
  const safe = FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
