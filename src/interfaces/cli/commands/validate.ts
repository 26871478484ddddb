/** `tollgate validate` as a command. */

import { EXIT_NEGATIVE, EXIT_TROUBLE } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { createPlatformClient, type PlatformClient } from '../platform-client.ts'
import { createApiClient } from '../session/api-client.ts'
import { openSession } from '../session/session.ts'
import { validate } from '../validate.ts'
import { readValidateSettings, type ValidateSettings } from '../validate-settings.ts'

export async function runValidate(args: readonly string[], io: Io): Promise<number> {
  const { env, out, err } = io
  const settings = readValidateSettings(args, env)
  if (typeof settings === 'string') {
    const isHelp = args.includes('--help')
    const sink = isHelp ? out : err
    sink.write(settings)
    return isHelp ? 0 : EXIT_TROUBLE
  }
  const { report, isGood } = await validate(settings, out.colour, await openPlatform(settings, io))
  out.write(report)
  return isGood ? 0 : EXIT_NEGATIVE
}

async function openPlatform({ service }: ValidateSettings, io: Io): Promise<Pick<PlatformClient, 'post'>> {
  if (service !== null) return createPlatformClient(service)
  const client = createApiClient(await openSession(io))
  return {
    post: async <T>(path: string, body?: unknown) =>
      (await client.call({ method: 'POST', path, body: JSON.stringify(body ?? {}) })) as T,
  }
}
