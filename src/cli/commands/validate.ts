/** `tollgate validate` as a command. */

import { EXIT_NEGATIVE, EXIT_TROUBLE } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { validate } from '../validate.ts'
import { readValidateSettings } from '../validate-settings.ts'

export async function runValidate(args: readonly string[], { env, out, err }: Io): Promise<number> {
  const settings = readValidateSettings(args, env)
  if (typeof settings === 'string') {
    const isHelp = args.includes('--help')
    const sink = isHelp ? out : err
    sink.write(settings)
    return isHelp ? 0 : EXIT_TROUBLE
  }
  const { report, isGood } = await validate(settings, out.colour)
  out.write(report)
  return isGood ? 0 : EXIT_NEGATIVE
}
