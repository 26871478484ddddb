/** `tollgate validate`: validates a document through the public API and fails a build that it should not pass. */

import { readFile } from 'node:fs/promises'
import { createPlatformClient, type PlatformClient } from './platform-client.ts'
import type { ValidateSettings } from './validate-settings.ts'
import { toJunit, toSarif } from './validation-reports.ts'
import { isGood, type ValidationResult } from './validation-result.ts'
import { toText } from './validation-text.ts'

export interface Validated {
  readonly report: string
  readonly isGood: boolean
}

export async function validate(
  settings: ValidateSettings,
  colour: boolean,
  platform: Pick<PlatformClient, 'post'> = createPlatformClient(settings.service),
): Promise<Validated> {
  const { file, previous, minScore } = settings
  const result = await platform.post<ValidationResult>('/v1/programmes/validate', {
    specification: await readBase64(file),
    ...(previous !== null && { previous: await readBase64(previous) }),
  })
  return { report: toReport(result, settings, colour), isGood: isGood(result, minScore) }
}

function toReport(result: ValidationResult, { file, format, minScore }: ValidateSettings, colour: boolean): string {
  if (format === 'json') return `${JSON.stringify(result, null, 2)}\n`
  if (format === 'sarif') return toSarif(result, file)
  return format === 'junit' ? toJunit(result, file, minScore) : toText(result, { file, minScore, colour })
}

async function readBase64(file: string): Promise<string> {
  return (await readFile(file)).toString('base64')
}
