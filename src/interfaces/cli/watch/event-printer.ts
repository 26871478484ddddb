/** Prints events one by one: a line for people, a JSON value per line, YAML documents, CSV with one head, or ids. */

import type { Io } from '../io.ts'
import { toCsvText } from '../output/csv-text.ts'
import { toPlain } from '../output/plain-text.ts'
import { type OutputFormat, toJsonText } from '../output/print-result.ts'
import type { Row } from '../output/table.ts'

export interface EventPrinterOptions {
  readonly format: OutputFormat
  readonly io: Io
  readonly toLine: (event: Row) => string
  /** The field that `-o name` prints. */
  readonly nameField: string
}

export async function createEventPrinter(options: EventPrinterOptions): Promise<(event: Row) => void> {
  const { format, io, toLine, nameField } = options
  const toText = await formatterOf(format, toLine, nameField)
  return (event) => io.out.write(toText(event))
}

async function formatterOf(
  format: OutputFormat,
  toLine: (event: Row) => string,
  nameField: string,
): Promise<(event: Row) => string> {
  switch (format) {
    case 'json':
      return (event) => `${toJsonText(event, 0)}\n`
    case 'yaml': {
      const { stringify } = await import('yaml')
      return (event) => `---\n${stringify(event)}`
    }
    case 'csv':
      return csvFormatter()
    case 'name':
      return (event) => `${toPlain(String(event[nameField]))}\n`
    case 'table':
      return (event) => `${toLine(event)}\n`
  }
}

/** The first event determines the columns. */
function csvFormatter(): (event: Row) => string {
  let columns: readonly string[] | null = null
  return (event) => {
    const isFirst = columns === null
    const names = (columns ??= Object.keys(event))
    const text = toCsvText([Object.fromEntries(names.map((name) => [name, event[name]]))])
    return isFirst ? text : text.slice(text.indexOf('\r\n') + 2)
  }
}
