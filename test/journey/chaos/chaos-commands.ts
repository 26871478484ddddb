/** Commands at random nodes while faults happen; a command that fails may have taken effect. */

import type { Random } from '../../random.ts'
import type { Activation, DeclaredValue } from '../../simulation/history-checker.ts'
import { ledgerDocument } from '../ledger-backend.ts'
import type { ChaosBackend } from './chaos-backend.ts'
import type { ChaosCluster } from './chaos-cluster.ts'
import type { ChaosLoad } from './chaos-load.ts'
import { createChaosRevocations, type ChaosRevocations } from './chaos-revocations.ts'

export interface ChaosCommands {
  readonly declared: DeclaredValue[]
  readonly activations: Activation[]
  readonly revocations: ChaosRevocations
  /** Runs a random command. */
  run(): Promise<void>
}

export interface CommandParts {
  readonly cluster: ChaosCluster
  readonly load: ChaosLoad
  readonly backend: ChaosBackend
  readonly random: Random
  readonly totals: { readonly api: string; readonly value: number }
  readonly free: { readonly api: string; readonly answer: string }
}

interface Answer {
  readonly answeredMs: number | null
  readonly id: string | null
}

const VALUES = [50, 100, 200, 400]

/** Returns a declaration in base64. */
export function declarationOf(parts: object): string {
  const declaration = { opensla: '1.0.0', info: { title: 'Limits', version: '1.0.0' }, ...parts }
  return Buffer.from(JSON.stringify(declaration)).toString('base64')
}

/** Returns a declaration of one limit for all operations. */
export const limitOf = (limit: object): string => declarationOf({ limits: [{ name: 'all', ...limit }] })

/** Returns a document that yields the name of the API. */
export function documentOf(api: string): object {
  const title = api.replace('-v1', '')
  const document = ledgerDocument() as { readonly info: object }
  return { ...document, info: { ...document.info, title } }
}

export function createChaosCommands(parts: CommandParts): ChaosCommands {
  const { cluster, load, backend, random, totals, free } = parts
  const declared: DeclaredValue[] = [{ value: totals.value, askedMs: 0, answeredMs: 0 }]
  const activations: Activation[] = [{ answer: free.answer, answeredMs: 0 }]
  let made = 0

  const pick = () => cluster.nodes[random.below(cluster.nodes.length)]!

  /** Returns null if the command failed. `answeredMs` is null if its answer names nodes that do not follow it yet. */
  async function send(path: string, body?: object): Promise<Answer | null> {
    const { service } = pick()
    try {
      const authorization = `Bearer ${await service.platform.token()}`
      const response = await fetch(service.baseUrl + path, {
        method: 'POST',
        headers: { authorization, ...(body && { 'content-type': 'application/json' }) },
        ...(body && { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      if (!response.ok) return null
      const answeredMs = response.headers.has('tollgate-pending-nodes') ? null : Date.now()
      return { answeredMs, id: text === '' ? null : ((JSON.parse(text) as { id?: string }).id ?? null) }
    } catch {
      return null
    }
  }

  async function declare(): Promise<void> {
    const value = VALUES[random.below(VALUES.length)]!
    const askedMs = Date.now()
    const specification = limitOf({ totals: { minute: value } })
    const answer = await send('/v1/openslaspecs', { api: totals.api, specification })
    declared.push({ value, askedMs, answeredMs: answer?.answeredMs ?? null })
  }

  async function activate(): Promise<void> {
    const answer = `revision-${++made}`
    const specification = Buffer.from(JSON.stringify(documentOf(free.api))).toString('base64')
    const url = `${backend.url}/${answer}`
    const staged = await send('/v1/proxies', { api: free.api, specification, backend: { url } })
    if (staged === null) return
    // It may serve from now on, and must after the answer.
    const at = activations.push({ answer, answeredMs: null }) - 1
    const activated = await send(`/v1/proxies/${staged.id}/activate`)
    activations[at] = { answer, answeredMs: activated?.answeredMs ?? null }
  }

  const revocations = createChaosRevocations({ cluster, load, random, api: free.api })
  const commands = [declare, activate, revocations.run]
  return { declared, activations, revocations, run: () => commands[random.below(commands.length)]!() }
}
