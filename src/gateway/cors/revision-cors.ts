/** The CORS rules of a revision: of its calls, of its token endpoints, and what each path accepts. */

import { corsOf } from '../../boundary/plan/cors.ts'
import type { OperationPlan, RoutePlan } from '../../boundary/plan/route-plan.ts'
import { createCorsRules, type CorsRules } from './cors-rules.ts'

export interface RevisionCors {
  readonly calls: CorsRules
  /** Without credentials: no cookie counts at these endpoints. */
  readonly tokens: CorsRules
  /** Returns the lines of the answer to a preflight request. `methods` are those of its path; null if there is no such path. */
  preflightLines(origin: string | undefined, methods: ReadonlyMap<string, number> | null): string
}

/** Carry a credential or describe the body, so that an operation needs no declaration for them. */
const ALWAYS_ACCEPTED: readonly string[] = ['authorization', 'content-type', 'x-api-key']

interface Accepted {
  readonly methods: string
  readonly headers: string
}

/** Returns null if the API has no setting. */
export function compileCors(plan: Pick<RoutePlan, 'policyCors' | 'cors' | 'operations'>): RevisionCors | null {
  const setting = corsOf(plan)
  if (setting === null) return null
  const calls = createCorsRules(setting)
  /** By the methods of a path; written at its first preflight request. */
  const known = new Map<ReadonlyMap<string, number>, Accepted>()

  function acceptedAt(methods: ReadonlyMap<string, number>): Accepted {
    const names = [...methods.values()].flatMap((position) => headersOf(plan.operations[position]!))
    const headers = new Set([...ALWAYS_ACCEPTED, ...(setting?.headers ?? []), ...names])
    return { methods: [...methods.keys()].join(', '), headers: [...headers].join(', ') }
  }

  return {
    calls,
    tokens: createCorsRules({
      origins: setting.origins,
      ...(setting.maxAge !== undefined && { maxAge: setting.maxAge }),
    }),
    preflightLines(origin, methods) {
      if (methods === null) return calls.preflightLines(origin, '', '')
      let accepted = known.get(methods)
      if (accepted === undefined) known.set(methods, (accepted = acceptedAt(methods)))
      return calls.preflightLines(origin, accepted.methods, accepted.headers)
    },
  }
}

function headersOf({ parameters }: OperationPlan): readonly string[] {
  return parameters.filter((parameter) => parameter.in === 'header').map(({ name }) => name.toLowerCase())
}
