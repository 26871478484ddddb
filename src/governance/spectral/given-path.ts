/**
 * Vets the paths of a tenant's rules before Spectral's engine evaluates them.
 *
 * The engine compiles a path to a program and runs it: `$..[?(@.constructor.constructor('…')())]` would
 * execute foreign code in our process. Allowed are members, indices, wildcards and comparing filters. The
 * only call is `.match(/…/)`, with an expression that runs in linear time.
 */

import { compileLinear } from '../../json/linear-pattern.ts'

const LENGTH_MAX = 500
const NAME = /[A-Za-z_$][\w$-]*/y
/** In a filter a hyphen would be a minus. */
const MEMBER = /[A-Za-z_$][\w$]*(?!-)/y
const ALIAS = /#([A-Za-z][A-Za-z0-9_-]*)/y
const QUOTED = /'[^'"\\\p{Cc}]*'|"[^'"\\\p{Cc}]*"/uy
const INDEX = /-?\d{1,6}(?::-?\d{0,6}){0,2}|:-?\d{1,6}/y
const SPACE = /\s*/y
/** Start of a filter: the value, or a property of it. */
const SUBJECT =
  /@(?:root|path|property|parentProperty|parent|string|number|boolean|scalar|array|null|object|integer)?(?:\(\))?(?![\w@])/y
const CONSTANT = /(?:-?\d+(?:\.\d+)?|true|false|null|undefined|void 0)(?!\w)/y
const OPERATOR = /===|!==|==|!=|<=|>=|&&|\|\||<|>/y
const MATCH = /\.match\(\s*\/((?:[^\\/\n]|\\[^\n])+)\/(i?)\s*\)/y
/** A group that repeats: the one thing that lets backtracking explode. */
const REPEATED_GROUP = /\)[*+{]/
const FORBIDDEN: ReadonlySet<string> = new Set(['constructor', 'prototype'])

/** Why the path is not taken; null: it is. Aliases are `#Name` at its beginning. */
export function faultOfPath(path: string, aliases: ReadonlySet<string>): string | null {
  if (path.length > LENGTH_MAX) return `A path has at most ${LENGTH_MAX} characters.`
  let at = 0

  function take(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = at
    const found = pattern.exec(path)
    if (found !== null) at += found[0].length
    return found
  }

  const unexpected = (): string =>
    `It is not taken from character ${at + 1} on: ${path.slice(at, at + 40) || 'it ends too early'}`

  function faultOfName(name: string | undefined): string | null {
    if (name === undefined) return unexpected()
    return FORBIDDEN.has(name) || name.startsWith('__') ? `A path may not name ${name}.` : null
  }

  const faultOfQuoted = (): string | null => faultOfName(take(QUOTED)?.[0].slice(1, -1))

  /** Names, indices or a filter, up to the bracket that closes. */
  function faultOfBracket(): string | null {
    if (path.startsWith('?(', at)) {
      at += 2
      return faultOfFilter()
    }
    if (path[at] === '*') at += 1
    else if (take(INDEX) === null) {
      do {
        take(SPACE)
        const isQuoted = path[at] === "'" || path[at] === '"'
        const fault = isQuoted ? faultOfQuoted() : faultOfName(take(NAME)?.[0])
        if (fault !== null) return fault
        take(SPACE)
      } while (path[at] === ',' && ++at > 0)
    }
    return path[at++] === ']' ? null : unexpected()
  }

  /** `?(…)]` */
  function faultOfFilter(): string | null {
    let depth = 1
    for (let isOperand = true; depth > 0;) {
      take(SPACE)
      if (isOperand) {
        if (path[at] === '!' && path[at + 1] !== '=') at += 1
        else if (path[at] === '(') {
          at += 1
          depth += 1
        } else if (take(SUBJECT) !== null) {
          const fault = faultOfMembers()
          if (fault !== null) return fault
          isOperand = false
        } else if (take(CONSTANT) !== null || take(QUOTED) !== null) isOperand = false
        else return unexpected()
      } else if (path[at] === ')') {
        at += 1
        depth -= 1
      } else if (take(OPERATOR) !== null) isOperand = true
      else return unexpected()
    }
    return path[at++] === ']' ? null : unexpected()
  }

  /** Checks the members behind a value of a filter: `.name`, `['name']`, `[0]`, `.length`, `.match(/…/)`. */
  function faultOfMembers(): string | null {
    for (;;) {
      const match = take(MATCH)
      if (match !== null) {
        const [, expression = ''] = match
        if (REPEATED_GROUP.test(expression) || compileLinear(expression) === null) {
          return 'The expression is not taken: no group that repeats, no look-around, no reference back.'
        }
        return null
      }
      let fault: string | null
      if (path[at] === '.') {
        at += 1
        fault = faultOfName(take(MEMBER)?.[0])
      } else if (path[at] === '[') {
        at += 1
        fault = take(INDEX) === null ? faultOfQuoted() : null
        if (fault === null && path[at++] !== ']') fault = unexpected()
      } else return null
      if (fault !== null) return fault
      if (path[at] === '(') return 'Nothing may be called but `.match(/…/)`.'
    }
  }

  if (path.startsWith('#')) {
    const name = take(ALIAS)?.[1]
    if (name === undefined || !aliases.has(name)) return `There is no alias ${name ?? path.slice(0, 40)}.`
  } else if (path[at++] !== '$') return 'A path begins with $, or with # and the name of an alias.'
  while (at < path.length) {
    let fault: string | null = null
    if (path[at] === '^' || path[at] === '~') at += 1
    else if (path[at] === '[') {
      at += 1
      fault = faultOfBracket()
    } else if (path[at] === '.') {
      at += path.startsWith('..', at) ? 2 : 1
      if (path[at] === '*') at += 1
      else if (path[at] === '[' && path[at - 2] === '.') continue
      else fault = faultOfName(take(NAME)?.[0])
    } else fault = unexpected()
    if (fault !== null) return fault
  }
  return null
}
