/**
 * Variables of the environment in the texts of a folder: `${NAME}` is the value of a variable, `$${NAME}` the text `${NAME}`.
 *
 * Their values may be secrets, so that what is printed or stored has their names instead.
 */

import { CommandFailed } from '../exit-codes.ts'
import { toPlain } from '../output/plain-text.ts'
import { SECRET_FIELDS } from './resource.ts'

export interface Variables {
  /** Returns the value with variables replaced in all its texts. Throws a sentence for one that is not set. */
  replaceIn(this: void, value: unknown, file: string): unknown
  /** Returns the text with the names of variables in place of their values. */
  hide(this: void, text: string): string
}

type Env = Readonly<Record<string, string | undefined>>

/** Secrets that are members of others. */
const SECRET_MEMBERS: ReadonlySet<string> = new Set(['secretHeaders value', 'tls key'])

/** A secret whose variable is not set. Only a command that sends the secret needs it. */
class UnsetSecret {
  readonly #sentence: string

  constructor(sentence: string) {
    this.#sentence = sentence
  }

  toJSON(): never {
    throw new CommandFailed(this.#sentence)
  }
}

const VARIABLE = /(\$?)\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g
const ONE_VARIABLE = /^\$\{[A-Za-z_][A-Za-z0-9_]*\}$/
const DEPTH_MAX = 64
/** Shorter values are part of many texts, and no secrets. */
const HIDDEN_LENGTH_MIN = 4

export function createVariables(env: Env): Variables {
  const names = new Map<string, string>()

  /** `parent` is the name of the object or the list that has the value. */
  function replaceIn(value: unknown, file: string, parent = '', isSecret = false, depth = 0): unknown {
    if (depth > DEPTH_MAX) throw new CommandFailed(`${file} is nested too deeply.`)
    if (typeof value === 'string') return replace(value, file, isSecret)
    if (Array.isArray(value)) return value.map((each) => replaceIn(each, file, parent, false, depth + 1))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => {
        const isOne = SECRET_FIELDS.has(name) || SECRET_MEMBERS.has(`${parent} ${name}`)
        return [name, replaceIn(each, file, name, isOne, depth + 1)]
      }),
    )
  }

  function replace(text: string, file: string, isSecret: boolean): unknown {
    let unset: string | null = null
    const replaced = text.replace(VARIABLE, (found, escape: string, name: string) => {
      if (escape !== '') return found.slice(1)
      const value = Object.hasOwn(env, name) ? env[name] : undefined
      if (value === undefined) unset ??= name
      else if (value.length >= HIDDEN_LENGTH_MIN) names.set(value, name)
      return value ?? ''
    })
    if (unset === null) return replaced
    const sentence = `${file}: the variable ${String(unset)} is not set.`
    if (isSecret && ONE_VARIABLE.test(text)) return new UnsetSecret(sentence)
    throw new CommandFailed(sentence)
  }

  return {
    replaceIn: (value, file) => replaceIn(value, file),
    hide(text) {
      let hidden = text
      for (const [value, name] of [...names].toSorted(([one], [other]) => other.length - one.length)) {
        for (const form of formsOf(value)) hidden = hidden.replaceAll(form, () => `\${${name}}`)
      }
      return hidden
    },
  }
}

/** A value may be printed as it is, within JSON, or without control characters. */
function formsOf(value: string): ReadonlySet<string> {
  const quoted = JSON.stringify(value).slice(1, -1)
  return new Set([quoted, value, toPlain(quoted), toPlain(value)])
}

/** Whether a value is a secret whose variable is not set. */
export function isUnset(value: unknown): boolean {
  return value instanceof UnsetSecret
}

/** Throws a sentence if the value has a secret whose variable is not set. */
export function checkSecrets(value: unknown): void {
  if (value instanceof UnsetSecret) value.toJSON()
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(checkSecrets)
}
