/** Flags of the command line: `--empty`, and one for each setting. No message repeats a value, which may be a secret. */

import { parseArgs } from 'node:util'

const FLAG = /^-(?:-[\w-]{1,80}|\w)$/
const EMPTY = 'empty'

/** Reads the settings among the arguments, and `--empty`. Adds a line to `wrong` for each argument that is not understood. */
export function readFlags<Name extends string>(argv: readonly string[], settings: readonly Name[], wrong: string[]) {
  const names = new Map(settings.map((name) => [flagOf(name), name]))
  const options = Object.fromEntries(settings.map((name) => [flagOf(name).slice(2), { type: 'string' as const }]))
  const { tokens } = parseArgs({
    args: [...argv],
    options: { ...options, [EMPTY]: { type: 'boolean' } },
    strict: false,
    tokens: true,
  })
  const flags = new Map<Name, string>()
  let empty = false
  for (const token of tokens) {
    const flag = argumentName(token)
    const name = names.get(flag)
    if (token.kind === 'option' && token.name === EMPTY && token.value === undefined) empty = true
    else if (token.kind !== 'option' || name === undefined) wrong.push(`${flag} is not a flag; --help lists them`)
    else if (token.value === undefined || (!token.inlineValue && token.value.startsWith('--')))
      wrong.push(`${flag} takes a value`)
    else flags.set(name, token.value)
  }
  return { flags, empty }
}

/** Returns `--gateway-port` for `GATEWAY_PORT`. */
export function flagOf(name: string): string {
  return `--${name.toLowerCase().replaceAll('_', '-')}`
}

interface Argument {
  readonly kind: 'option' | 'positional' | 'option-terminator'
  readonly index: number
  readonly rawName?: string
}

/** Returns the name of a flag, and the number of any other argument: after a misspelt flag, it is the value of a setting. */
function argumentName({ kind, index, rawName = '' }: Argument): string {
  if (kind === 'option-terminator') return '--'
  return FLAG.test(rawName) ? rawName : `argument ${index + 1}`
}
