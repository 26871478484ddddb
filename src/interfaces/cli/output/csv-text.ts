/** CSV (RFC 4180) with the columns of the fields, safe to open in a spreadsheet: a quote precedes each text like a formula. */

import type { Row } from './table.ts'

/** Includes the full-width forms and leading blanks, which some spreadsheets treat alike. */
const FORMULA = /^\s*[=+\-@\t\r\n|%＝＋－＠]/
const NUMBER = /^-?\d+(\.\d+)?$/

export function toCsvText(rows: readonly Row[]): string {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  if (columns.length === 0) return ''
  const lines = [columns, ...rows.map((row) => columns.map((column) => row[column]))]
  return lines.map((cells) => `${cells.map(toField).join(',')}\r\n`).join('')
}

function toField(value: unknown): string {
  if (value === null || value === undefined) return ''
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  const safe = FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
