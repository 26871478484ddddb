/** `GET /v1/settings` and `GET /v1/health`: how the process is set up and how it is; for the tenant of the operator. */

import { pageOf } from '../../control/command/page.ts'
import { Problem } from '../../foundation/domain/problem.ts'
import type { Handlers, Operations } from './operation.ts'
import { list, named, nullable, object, pagedQuery, text, time } from './schemas.ts'

export interface SettingInForce {
  readonly name: string
  /** Null: unset, or a secret. */
  readonly inForce: string | null
  readonly fallback: string
  readonly isDefault: boolean
  readonly isSecret: boolean
  readonly meaning: string
}

export interface ServiceHealth {
  readonly state: 'ready' | 'refusing'
  readonly reason: string | null
  readonly version: string
  readonly startedAt: string
  readonly uptimeSeconds: number
  readonly memoryBytes: number
  readonly spool: { readonly usedRatio: number; readonly maxBytes: number }
  readonly pipeline: { readonly readLagSeconds: number; readonly storeLagSeconds: number }
  readonly store: { readonly kind: 'embedded' | 'server'; readonly storedAt: string }
  readonly disk: { readonly freeBytes: number; readonly totalBytes: number } | null
  readonly threads: readonly {
    readonly thread: number
    readonly state: 'ready' | 'starting'
    readonly callsInFlight: number
  }[]
  readonly nodes: readonly { readonly name: string; readonly state: 'ready' | 'refusing' }[]
}

const number = { type: 'number' } as const
const integer = { type: 'integer' } as const
const state = { type: 'string', enum: ['ready', 'refusing'] } as const
const setting = named(
  'Setting',
  object({
    name: text,
    inForce: { ...nullable(text), description: 'Null: unset, or a secret.' },
    fallback: { ...text, description: 'The default, as `--help` shows it.' },
    isDefault: { type: 'boolean' },
    isSecret: { type: 'boolean', description: 'The value is never shown.' },
    meaning: text,
  }),
)
const shared = {
  method: 'GET',
  tag: 'Service',
  status: 200,
  problems: ['operation_forbidden'],
} as const

export const SERVICE_STATE_OPERATIONS = {
  listSettings: {
    ...shared,
    path: '/v1/settings',
    summary: 'Returns the settings in force, without secrets; for the tenant of the operator',
    scope: 'settings:read',
    query: pagedQuery(),
    answer: list(setting),
  },
  getServiceHealth: {
    ...shared,
    path: '/v1/health',
    summary: 'Returns the health of the process: spool, pipeline, threads, store, disk; for the tenant of the operator',
    scope: 'health:read',
    answer: named(
      'ServiceHealth',
      object({
        state,
        reason: { ...nullable(text), description: 'Why calls are refused.' },
        version: text,
        startedAt: time,
        uptimeSeconds: integer,
        memoryBytes: { ...integer, description: 'Resident memory of the process.' },
        spool: object({
          usedRatio: { ...number, description: 'Share of the maximum; calls are refused at 1.' },
          maxBytes: integer,
        }),
        pipeline: object({
          readLagSeconds: { ...number, description: 'Time since all recorded calls were read; 0 while that is so.' },
          storeLagSeconds: {
            ...number,
            description: 'Time since all usage that was read was stored; 0 while that is so.',
          },
        }),
        store: object({ kind: { type: 'string', enum: ['embedded', 'server'] }, storedAt: time }),
        disk: {
          ...nullable(object({ freeBytes: integer, totalBytes: integer })),
          description: 'The disk of the data folder; null if it cannot be measured.',
        },
        threads: {
          type: 'array',
          items: object({
            thread: integer,
            state: { type: 'string', enum: ['ready', 'starting'] },
            callsInFlight: { ...integer, description: 'Calls without a record.' },
          }),
        },
        nodes: { type: 'array', items: object({ name: text, state }) },
      }),
    ),
  },
} as const satisfies Operations

export interface ServiceState {
  settings(this: void): readonly SettingInForce[]
  health(this: void): Promise<ServiceHealth>
}

export interface ServiceStateHandlersOptions {
  readonly serviceState: ServiceState
  /** The tenant of the operator. */
  readonly operator: string
}

export function serviceStateHandlers({
  serviceState,
  operator,
}: ServiceStateHandlersOptions): Handlers<typeof SERVICE_STATE_OPERATIONS> {
  function refuseOthers(tenant: string): void {
    if (tenant === operator) return
    throw new Problem('operation_forbidden', 'Only the tenant of the operator may read the state of the process.')
  }
  return {
    async listSettings({ author, query }, reply) {
      refuseOthers(author.tenant)
      void reply.header('Cache-Control', 'no-store')
      return pageOf(serviceState.settings(), query)
    },
    async getServiceHealth({ author }, reply) {
      refuseOthers(author.tenant)
      void reply.header('Cache-Control', 'no-store')
      return serviceState.health()
    },
  }
}
