/**
 * The declared responses of an operation, against which responses of the backend are compared: status, media type, and sampled
 * bodies.
 *
 * A 5xx status is a failure of the backend, which no contract must declare. Schemas are compiled at their first use, once their
 * patterns are compiled, which takes turns with the calls if there are many. A schema that cannot be compiled is not checked.
 */

import type { ResponsePlan, RoutePlan } from '../../boundary/plan/route-plan.ts'
import { createPace, type Pace } from '../../foundation/runtime/pace.ts'
import { isJson, parseMediaType } from '../../foundation/domain/media-type.ts'
import { patternsIn, preparePatterns } from '../../boundary/schema/patterns.ts'
import { createSchemaCompiler, type Check, type SchemaCompiler } from '../../boundary/schema/schema-compiler.ts'

export interface DeclaredResponses {
  /** Returns null if the contract does not declare the status. */
  find(status: number): DeclaredResponse | null
}

export interface DeclaredResponse {
  /** Whether the response may have this media type. Caches accepted headers. */
  accepts(contentType: string): boolean
  /** Returns the check of a JSON body of this type; null if it is not checked. */
  checkFor(contentType: string): Check | null
  /** Times of the last sampled body, and of the last report of each kind. */
  sampledMs: number
  mediaReportedMs: number
  bodyReportedMs: number
}

const ACCEPTED_MAX = 32
/** A pattern takes up to tens of milliseconds to compile. */
const PATTERNS_AT_ONCE_MAX = 8

/** Compiles a schema; null if it cannot be, undefined if it cannot be yet. */
type Compile = (schema: unknown) => Check | null | undefined

/** Returns the declared responses in the order of `plan.operations`; null for an operation that declares none. */
export function compileResponses(plan: RoutePlan, pace: Pace = createPace()): readonly (DeclaredResponses | null)[] {
  const compile = createCompile(plan, pace)
  return plan.operations.map(({ responses }) =>
    compileOperation(
      responses.map((at) => plan.responses[at]!),
      compile,
    ),
  )
}

function createCompile({ responses, responseComponents }: RoutePlan, pace: Pace): Compile {
  let compiler: SchemaCompiler | null = null
  let isReady = false

  function prepare(): void {
    compiler = createSchemaCompiler({ components: responseComponents })
    const patterns = new Set(patternsIn([responseComponents, responses]))
    if (patterns.size <= PATTERNS_AT_ONCE_MAX) isReady = true
    else void preparePatterns(patterns, compiler, pace).then(() => (isReady = true))
  }

  return (schema) => {
    try {
      if (compiler === null) prepare()
      return isReady ? compiler!.compile(schema) : undefined
    } catch {
      return null
    }
  }
}

function compileOperation(responses: readonly ResponsePlan[], compile: Compile): DeclaredResponses | null {
  if (responses.length === 0) return null
  const declared = new Map(responses.map((response) => [response.status, toDeclared(response, compile)]))
  const known = new Map<number, DeclaredResponse | null>()
  return {
    find(status) {
      let found = known.get(status)
      if (found === undefined) {
        found =
          declared.get(String(status)) ??
          declared.get(`${Math.floor(status / 100)}XX`) ??
          declared.get('default') ??
          null
        known.set(status, found)
      }
      return found
    },
  }
}

function toDeclared({ content }: ResponsePlan, compile: Compile): DeclaredResponse {
  const accepted = new Set<string>()
  const checks = new Map<string, Check | null>()

  /** Returns the most specific declared name that includes a media type. */
  function nameFor(type: string): string | undefined {
    const names = [type, `${type.slice(0, type.indexOf('/'))}/*`, '*/*']
    return names.find((name) => content !== null && Object.hasOwn(content, name))
  }

  return {
    sampledMs: -Infinity,
    mediaReportedMs: -Infinity,
    bodyReportedMs: -Infinity,
    accepts(contentType) {
      if (content === null || accepted.has(contentType)) return true
      const media = parseMediaType(contentType)
      if (media === null || nameFor(media.type) === undefined) return false
      if (accepted.size < ACCEPTED_MAX) accepted.add(contentType)
      return true
    },
    checkFor(contentType) {
      const media = parseMediaType(contentType)
      const name = media === null || !media.isUtf8 || !isJson(media.type) ? undefined : nameFor(media.type)
      if (content === null || name === undefined || content[name] === null) return null
      const known = checks.get(name)
      if (known !== undefined) return known
      const check = compile(content[name])
      if (check !== undefined) checks.set(name, check)
      return check ?? null
    },
  }
}
