/**
 * The answers an operation declares, ready to be held against those of its backend: status, media type,
 * and in samples the body.
 *
 * Statuses of 5xx are the backend's trouble and no answer that a contract would have to know. Schemas are
 * compiled when they are first needed; what cannot be compiled is not checked.
 */

import type { ResponsePlan, RoutePlan } from '../../plan/route-plan.ts'
import { isJson, parseMediaType } from './media-type.ts'
import { createSchemaCompiler, type Check, type SchemaCompiler } from '../../schema/schema-compiler.ts'

export interface DeclaredResponses {
  /** Null where nothing is declared for it: then the status is not known to the contract. */
  find(status: number): DeclaredResponse | null
}

export interface DeclaredResponse {
  /** Whether an answer may be of this media type; headers that were looked at are remembered. */
  takes(contentType: string): boolean
  /** How a JSON body of this type is checked; null: it is not. */
  checkFor(contentType: string): Check | null
  /** When a body was last looked at, and when a fault of each kind was last told. */
  sampledMs: number
  mediaToldMs: number
  bodyToldMs: number
}

const REMEMBERED_MAX = 32

/** In the order of `plan.operations`; null where an operation declares no answer. */
export function compileResponses(plan: RoutePlan): readonly (DeclaredResponses | null)[] {
  let compiler: SchemaCompiler | null = null
  const compile = (schema: unknown): Check | null => {
    try {
      compiler ??= createSchemaCompiler({ dialect: plan.dialect, components: plan.responseComponents })
      return compiler.compile(schema)
    } catch {
      return null
    }
  }
  return plan.operations.map(({ responses }) =>
    compileOperation(
      responses.map((at) => plan.responses[at]!),
      compile,
    ),
  )
}

function compileOperation(
  responses: readonly ResponsePlan[],
  compile: (schema: unknown) => Check | null,
): DeclaredResponses | null {
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

function toDeclared({ content }: ResponsePlan, compile: (schema: unknown) => Check | null): DeclaredResponse {
  const accepted = new Set<string>()
  const checks = new Map<string, Check | null>()

  /** The declared name that stands for a media type, most particular first. */
  function nameFor(type: string): string | undefined {
    const names = [type, `${type.slice(0, type.indexOf('/'))}/*`, '*/*']
    return names.find((name) => content !== null && Object.hasOwn(content, name))
  }

  return {
    sampledMs: -Infinity,
    mediaToldMs: -Infinity,
    bodyToldMs: -Infinity,
    takes(contentType) {
      if (content === null || accepted.has(contentType)) return true
      const media = parseMediaType(contentType)
      if (media === null || nameFor(media.type) === undefined) return false
      if (accepted.size < REMEMBERED_MAX) accepted.add(contentType)
      return true
    },
    checkFor(contentType) {
      const media = parseMediaType(contentType)
      const name = media === null || !media.isUtf8 || !isJson(media.type) ? undefined : nameFor(media.type)
      if (content === null || name === undefined || content[name] === null) return null
      let check = checks.get(name)
      if (check === undefined) checks.set(name, (check = compile(content[name])))
      return check
    },
  }
}
