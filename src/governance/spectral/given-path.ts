/**
 * Checks the paths of a tenant's rules before Spectral's engine evaluates them.
 *
 * The engine compiles a path to a program and runs it: `$..[?(@.constructor.constructor('…')())]` would
 * execute foreign code in our process. A path may have members, indices, wildcards and filters that compare. The
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
/** A repeated group, which makes a backtracking engine take exponential time. */
const REPEATED_GROUP = /\)[*+{]/
const FORBIDDEN: ReadonlySet<string> = new Set(['constructor', 'prototype'])

/** Returns why the path is refused; null: it is accepted. A path may begin with `#Name`, the name of an alias. */
export function faultOfPath(path: string, aliases: ReadonlySet<string>): string | null {
  if (path.length > LENGTH_MAX) return `A path must not exceed ${LENGTH_MAX} characters.`
  return new PathParser(path, aliases).fault()
}

/** A recursive-descent parser. Each method reads one construct and returns its fault, or null. */
class PathParser {
  readonly #path: string
  readonly #aliases: ReadonlySet<string>
  #at = 0

  constructor(path: string, aliases: ReadonlySet<string>) {
    this.#path = path
    this.#aliases = aliases
  }

  fault(): string | null {
    const start = this.#faultOfStart()
    if (start !== null) return start
    while (this.#at < this.#path.length) {
      const fault = this.#faultOfStep()
      if (fault !== null) return fault
    }
    return null
  }

  #faultOfStart(): string | null {
    if (this.#path.startsWith('#')) {
      const name = this.#read(ALIAS)?.[1]
      return name !== undefined && this.#aliases.has(name)
        ? null
        : `There is no alias ${name ?? this.#path.slice(0, 40)}.`
    }
    return this.#skip('$') ? null : 'A path must begin with $, or with # and the name of an alias.'
  }

  #faultOfStep(): string | null {
    if (this.#skip('^') || this.#skip('~')) return null
    if (this.#skip('[')) return this.#faultOfBracket()
    const isDescent = this.#skip('..')
    if (!isDescent && !this.#skip('.')) return this.#unexpected()
    if (this.#skip('*') || (isDescent && this.#path[this.#at] === '[')) return null
    return this.#faultOfName(this.#read(NAME)?.[0])
  }

  /** Names, indices or a filter, up to the closing bracket. */
  #faultOfBracket(): string | null {
    if (this.#skip('?(')) return this.#faultOfFilter()
    if (!this.#skip('*') && this.#read(INDEX) === null) {
      do {
        this.#read(SPACE)
        const isQuoted = this.#path[this.#at] === "'" || this.#path[this.#at] === '"'
        const fault = isQuoted ? this.#faultOfQuoted() : this.#faultOfName(this.#read(NAME)?.[0])
        if (fault !== null) return fault
        this.#read(SPACE)
      } while (this.#skip(','))
    }
    return this.#skip(']') ? null : this.#unexpected()
  }

  /** `?(…)]` */
  #faultOfFilter(): string | null {
    let depth = 1
    for (let isOperand = true; depth > 0;) {
      this.#read(SPACE)
      if (isOperand) {
        if (this.#skipNot()) continue
        if (this.#skip('(')) depth += 1
        else {
          const fault = this.#faultOfOperand()
          if (fault !== null) return fault
          isOperand = false
        }
      } else if (this.#skip(')')) depth -= 1
      else if (this.#read(OPERATOR) !== null) isOperand = true
      else return this.#unexpected()
    }
    return this.#skip(']') ? null : this.#unexpected()
  }

  #faultOfOperand(): string | null {
    if (this.#read(SUBJECT) !== null) return this.#faultOfMembers()
    return this.#read(CONSTANT) !== null || this.#read(QUOTED) !== null ? null : this.#unexpected()
  }

  /** Checks the members of a filter's subject: `.name`, `['name']`, `[0]`, `.length`, `.match(/…/)`. */
  #faultOfMembers(): string | null {
    for (;;) {
      const match = this.#read(MATCH)
      if (match !== null) return faultOfExpression(match[1] ?? '')
      let fault: string | null
      if (this.#skip('.')) fault = this.#faultOfName(this.#read(MEMBER)?.[0])
      else if (this.#skip('[')) {
        fault = this.#read(INDEX) === null ? this.#faultOfQuoted() : null
        if (fault === null && !this.#skip(']')) fault = this.#unexpected()
      } else return null
      if (fault !== null) return fault
      if (this.#path[this.#at] === '(') return 'The only call that a path may have is `.match(/…/)`.'
    }
  }

  #faultOfQuoted(): string | null {
    return this.#faultOfName(this.#read(QUOTED)?.[0].slice(1, -1))
  }

  #faultOfName(name: string | undefined): string | null {
    if (name === undefined) return this.#unexpected()
    return FORBIDDEN.has(name) || name.startsWith('__') ? `A path must not name ${name}.` : null
  }

  #unexpected(): string {
    const rest = this.#path.slice(this.#at, this.#at + 40)
    return rest === ''
      ? 'The path ends too early.'
      : `The path is not supported from character ${this.#at + 1} on: ${rest}`
  }

  #read(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#path)
    if (found !== null) this.#at += found[0].length
    return found
  }

  #skip(text: string): boolean {
    if (!this.#path.startsWith(text, this.#at)) return false
    this.#at += text.length
    return true
  }

  /** A `!` that does not begin `!=`. */
  #skipNot(): boolean {
    return this.#path[this.#at + 1] !== '=' && this.#skip('!')
  }
}

function faultOfExpression(expression: string): string | null {
  const isLinear = !REPEATED_GROUP.test(expression) && compileLinear(expression) !== null
  return isLinear ? null : 'The expression must not have a repeated group, look-around or a back-reference.'
}
