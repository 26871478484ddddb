/** `tollgate validate`: validates a document through the public API and fails a build that it should not pass. */

import type { Readable } from 'node:stream'
import { InputFault } from './gate/input-fault.ts'
import { readInput } from './gate/read-input.ts'
import { createPlatformClient, type PlatformClient } from './platform-client.ts'
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
  platform: Pick<PlatformClient, 'post'> = createPlatformClient(settings.service),
  stdin: Readable = process.stdin,
): Promise<Validated> {
  const { file, previous, minScore } = settings
  const result = await platform.post<ValidationResult>('/v1/programmes/validate', {
    specification: await readBase64(file, stdin),
    ...(previous !== null && { previous: await readBase64(previous, stdin) }),
  })
  const unread = result.breakingChanges.find(({ id }) => id === PREVIOUS_UNREADABLE)
  if (previous !== null && unread !== undefined) throw new InputFault(previous, `${previous}: ${unread.message}`)
  return { report: toReport(result, settings, colour), isGood: isGood(result, minScore) }
}

function toReport(result: ValidationResult, { file, format, minScore }: ValidateSettings, colour: boolean): string {
  if (format === 'json') return `${JSON.stringify(result, null, 2)}\n`
  if (format === 'text') return toText(result, { file, minScore, colour })
  return formatReport(toValidationReport(result, file, minScore), { format, colour, quiet: false })
}

async function readBase64(name: string, stdin: Readable): Promise<string> {
  return Buffer.from((await readInput(name, stdin)).bytes).toString('base64')
}
