/** `tollgate validate`: validates a document through the public API and fails a build that it should not pass. */

import type { Readable } from 'node:stream'
import { InputFault } from './gate/input-fault.ts'
import { readDocument, type Sources } from './gate/read-document.ts'
import type { PlatformClient } from './platform-client.ts'
import type { ValidateSettings } from './validate-settings.ts'
import { formatReport } from './report/format-report.ts'
import { toValidationReport } from './validation-report.ts'
import { isGood, type ValidationResult } from './validation-result.ts'
import { toText } from './validation-text.ts'

/** The change that the service reports if it cannot read the previous version. */
const PREVIOUS_UNREADABLE = 'previous.invalid'

export interface Validated {
  readonly report: string
  readonly isGood: boolean
}

/** Throws `InputFault` with one sentence if a file, or the previous version in it, cannot be read. */
export async function validate(
  settings: ValidateSettings,
  colour: boolean,
  platform: Pick<PlatformClient, 'post'>,
  stdin: Readable = process.stdin,
): Promise<Validated> {
  const { file, previous, root, minScore } = settings
  const next = await readDocument(file, root, stdin)
  const before = previous === null ? null : await readDocument(previous, root, stdin)
  const received = await platform.post<Omit<ValidationResult, 'changes'> & Partial<ValidationResult>>(
    '/v1/programmes/validate',
    {
      specification: toBase64(next.bytes),
      ...(before !== null && { previous: toBase64(before.bytes) }),
    },
  )
  // An earlier service lists all changes as breaking ones, with their levels.
  const answer = { ...received, changes: received.changes ?? received.breakingChanges }
  const unread = answer.changes.find(({ id }) => id === PREVIOUS_UNREADABLE)
  if (previous !== null && unread !== undefined) throw new InputFault(previous, `${previous}: ${unread.message}`)
  const result = next.sources === null ? answer : toPlaces(answer, next.sources, next.file)
  return { report: toReport(result, settings, colour), isGood: isGood(result, minScore) }
}

/** Replaces the places in the document that was sent by those in the files that it was made of. */
function toPlaces(result: ValidationResult, { faults, findPlaces }: Sources, document: string): ValidationResult {
  const { findings, breakingChanges, changes } = result
  const placeOf = findPlaces([...findings, ...changes].map(({ pointer }) => pointer))
  const locate = <Item extends { readonly pointer: string; readonly message: string }>(item: Item): Item => {
    const { file, line, column } = placeOf(item.pointer)
    const message = faults.get(item.pointer) ?? item.message
    return { ...item, message, line, column, ...(file !== document && { file }) }
  }
  return {
    ...result,
    findings: findings.map(locate),
    breakingChanges: breakingChanges.map(locate),
    changes: changes.map(locate),
  }
}

function toReport(result: ValidationResult, { file, format, minScore }: ValidateSettings, colour: boolean): string {
  if (format === 'json') return `${JSON.stringify(result, null, 2)}\n`
  if (format === 'text') return toText(result, { file, minScore, colour })
  return formatReport(toValidationReport(result, file, minScore), { format, colour, quiet: false })
}

function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64')
}
