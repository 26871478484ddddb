/** Reads a file that an option names, in YAML or JSON: a ruleset, an ignore file or a baseline. */

import type { Readable } from 'node:stream'
import { fieldsOf, type Fields } from '../../../foundation/json/fields.ts'
import { parseDocumentBytes } from '../../../documents/governance/parse-document.ts'
import { InputFault } from './input-fault.ts'
import { readInput } from './read-input.ts'

/** Throws `InputFault` unless the file holds an object. */
export async function readOptionFile(option: string, name: string, stdin: Readable): Promise<Fields> {
  const { file, bytes } = await readInput(name, stdin)
  const parsed = parseDocumentBytes(bytes)
  if ('fault' in parsed) {
    const at = parsed.place === undefined ? '' : `:${parsed.place.line}:${parsed.place.column}`
    throw new InputFault(file, `--${option} ${file}${at}: ${parsed.fault}`)
  }
  const fields = fieldsOf(parsed.value)
  if (fields !== parsed.value) throw new InputFault(file, `--${option} ${file}: The file must hold an object.`)
  return fields
}
