/**
 * Checks the JSONPath expressions (`given`) of a tenant's rules before Spectral's engine evaluates them.
 *
 * The engine compiles a path to a program and runs it: `$..[?(@.constructor.constructor('…')())]` would
 * run the tenant's code in our process. A path may have members, indices, wildcards, and
 * filters made of comparisons. The only method call is `.match(/…/)`, with an expression that runs in linear time; the only other
 * call is a type test such as `@string()`.
 */

import { compileLinear } from '../../../foundation/json/linear-pattern.ts'

const LENGTH_MAX = 500
const NAME = /[A-Za-z_$][\w$-]*/y
/** In a filter, a hyphen means subtraction. */
const MEMBER = /[A-Za-z_$][\w$]*(?!-)/y
const ALIAS = /#([A-Za-z][A-Za-z0-9_-]*)/y
const QUOTED = /'[^'"\\\p{Cc}]*'|"[^'"\\\p{Cc}]*"/uy
const INDEX = /-?\d{1,6}(?::-?\d{0,6}){0,2}|:-?\d{1,6}/y
const SPACE = /\s*/y
/** Start of an operand: `@`, or a shorthand of Spectral such as `@property` or `@string()`. */
const SUBJECT =
  /@(?:root|path|property|parentProperty|parent|string|number|boolean|scalar|array|null|object|integer)?(?:\(\))?(?![\w@])/y
const CONSTANT = /(?:-?\d+(?:\.\d+)?|true|false|null|undefined|void 0)(?!\w)/y
const OPERATOR = /===|!==|==|!=|<=|>=|&&|\|\||<|>/y
const MATCH = /\.match\(\s*\/((?:[^\\/\n]|\\[^\n])+)\/(i?)\s*\)/y
/** A repeated group, which can make a backtracking engine take exponential time. */
const REPEATED_GROUP = /\)[*+{]/
const FORBIDDEN: ReadonlySet<string> = new Set(['constructor', 'prototype'])

/** Returns the reason why the path is invalid, or null. A path may begin with `#Name`, the name of an alias. */
export function checkPath(path: string, aliases: ReadonlySet<string>): string | null {
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
    const start = this.#parseStart()
    if (start !== null) return start
    while (this.#at < this.#path.length) {
      const fault = this.#parseStep()
      if (fault !== null) return fault
    }
    return null
  }

  #parseStart(): string | null {
    if (this.#path.startsWith('#')) {
      const name = this.#match(ALIAS)?.[1]
      return name !== undefined && this.#aliases.has(name)
        ? null
        : `There is no alias ${name ?? this.#path.slice(0, 40)}.`
    }
    return this.#accept('$') ? null : 'A path must begin with $, or with # and the name of an alias.'
  }

  #parseStep(): string | null {
    if (this.#accept('^') || this.#accept('~')) return null
    if (this.#accept('[')) return this.#parseBracket()
    const isDescent = this.#accept('..')
    if (!isDescent && !this.#accept('.')) return this.#unexpected()
    if (this.#accept('*') || (isDescent && this.#path[this.#at] === '[')) return null
    return this.#checkName(this.#match(NAME)?.[0])
  }

  /** Names, indices or a filter, up to the closing bracket. */
  #parseBracket(): string | null {
    if (this.#accept('?(')) return this.#parseFilter()
    if (!this.#accept('*') && this.#match(INDEX) === null) {
      do {
        this.#match(SPACE)
        const isQuoted = this.#path[this.#at] === "'" || this.#path[this.#at] === '"'
        const fault = isQuoted ? this.#parseQuoted() : this.#checkName(this.#match(NAME)?.[0])
        if (fault !== null) return fault
        this.#match(SPACE)
      } while (this.#accept(','))
    }
    return this.#accept(']') ? null : this.#unexpected()
  }

  /** Parses the rest of a filter after `?(`, including the closing `)]`. */
  #parseFilter(): string | null {
    let depth = 1
    for (let expectsOperand = true; depth > 0;) {
      this.#match(SPACE)
      if (expectsOperand) {
        if (this.#acceptNegation()) continue
        if (this.#accept('(')) depth += 1
        else {
          const fault = this.#parseOperand()
          if (fault !== null) return fault
          expectsOperand = false
        }
      } else if (this.#accept(')')) depth -= 1
      else if (this.#match(OPERATOR) !== null) expectsOperand = true
      else return this.#unexpected()
    }
    return this.#accept(']') ? null : this.#unexpected()
  }

  #parseOperand(): string | null {
    if (this.#match(SUBJECT) !== null) return this.#parseMembers()
    return this.#match(CONSTANT) !== null || this.#match(QUOTED) !== null ? null : this.#unexpected()
  }

  /** Checks the members of a filter's subject: `.name`, `['name']`, `[0]`, `.length`, `.match(/…/)`. */
  #parseMembers(): string | null {
    for (;;) {
      const match = this.#match(MATCH)
      if (match !== null) return checkRegularExpression(match[1] ?? '')
      let fault: string | null
      if (this.#accept('.')) fault = this.#checkName(this.#match(MEMBER)?.[0])
      else if (this.#accept('[')) {
        fault = this.#match(INDEX) === null ? this.#parseQuoted() : null
        if (fault === null && !this.#accept(']')) fault = this.#unexpected()
      } else return null
      if (fault !== null) return fault
      if (this.#path[this.#at] === '(') return '`.match(/…/)` is the only method call allowed in a path.'
    }
  }

  #parseQuoted(): string | null {
    return this.#checkName(this.#match(QUOTED)?.[0].slice(1, -1))
  }

  #checkName(name: string | undefined): string | null {
    if (name === undefined) return this.#unexpected()
    return FORBIDDEN.has(name) || name.startsWith('__') ? `A path must not contain the name ${name}.` : null
  }

  #unexpected(): string {
    const rest = this.#path.slice(this.#at, this.#at + 40)
    return rest === '' ? 'The path is incomplete.' : `Unsupported syntax at character ${this.#at + 1}: ${rest}`
  }

  #match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#path)
    if (found !== null) this.#at += found[0].length
    return found
  }

  #accept(text: string): boolean {
    if (!this.#path.startsWith(text, this.#at)) return false
    this.#at += text.length
    return true
  }

  /** Consumes a `!` unless it starts `!=`. */
  #acceptNegation(): boolean {
    return this.#path[this.#at + 1] !== '=' && this.#accept('!')
  }
}

function checkRegularExpression(expression: string): string | null {
  const isLinear = !REPEATED_GROUP.test(expression) && compileLinear(expression) !== null
  return isLinear
    ? null
    : 'The regular expression is invalid, or uses a repeated group, a look-around or a back-reference.'
}
