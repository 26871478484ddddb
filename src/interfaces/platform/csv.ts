/**
 * CSV (RFC 4180) that is safe to open in a spreadsheet: a quote precedes each text that starts like a formula, because names of
 * consumers are untrusted input.
 */

export function toCsv(columns: readonly string[], rows: readonly Readonly<Record<string, unknown>>[]): string {
  const lines = rows.map((row) => columns.map((column) => toCell(row[column])).join(','))
  return [columns.join(','), ...lines].map((line) => `${line}\r\n`).join('')
}

/** Includes the full-width forms and leading blanks, which some spreadsheets treat alike. */
const FORMULA = /^\s*[=+\-@\t\r\n|%＝＋－＠]/
const NUMBER = /^-?\d+(\.\d+)?$/

function toCell(value: unknown): string {
  const text = value === null || value === undefined ? '' : String(value)
  const safe = FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
