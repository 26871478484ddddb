/** A backend while a person edits it, and the backend of a request that follows from it. */

import type { ChangeBody } from '../../api/operations.ts'
import type { Proxy } from './proxy.ts'

export type Backend = Proxy['backend']
export type BackendInput = NonNullable<ChangeBody<'POST /v1/proxies'>['backend']>
export type Balance = NonNullable<Backend['balance']>

export interface TargetDraft {
  readonly url: string
  /** Empty: 1. */
  readonly weight: string
}

export interface BackendDraft {
  /** At least one. Those without a URL are left out. */
  readonly targets: readonly TargetDraft[]
  readonly balance: Balance
  /** Whether the client certificate and the authorities of the stored backend stay. */
  readonly keepsTls: boolean
  readonly keepsSecretHeaders: boolean
}

const NEW_TARGET: TargetDraft = { url: '', weight: '' }
export const EMPTY_BACKEND: BackendDraft = {
  targets: [NEW_TARGET],
  balance: 'roundRobin',
  keepsTls: true,
  keepsSecretHeaders: true,
}
export const TARGETS_MAX = 32

export function toDraft({ url, targets, balance = 'roundRobin' }: Backend): BackendDraft {
  const rows = targets ?? [{ url: url ?? '' }]
  return {
    ...EMPTY_BACKEND,
    targets: rows.map(({ url: address, weight }) => ({
      url: address,
      weight: weight === undefined ? '' : String(weight),
    })),
    balance,
  }
}

export function withTarget(draft: BackendDraft): BackendDraft {
  return { ...draft, targets: [...draft.targets, NEW_TARGET] }
}

export function withoutTarget(draft: BackendDraft, index: number): BackendDraft {
  return { ...draft, targets: draft.targets.filter((_, each) => each !== index) }
}

/**
 * Returns undefined if no URL was entered, so that the service chooses the backend. The other members stay as they are stored;
 * secrets are named without their values.
 */
export function toInput(draft: BackendDraft, stored: Backend | null): BackendInput | undefined {
  const targets = draft.targets.flatMap(({ url, weight }) =>
    url.trim() === '' ? [] : [{ url: url.trim(), ...(weight.trim() !== '' && { weight: Number(weight) }) }],
  )
  const [first] = targets
  if (first === undefined) return undefined
  const isOne = targets.length === 1 && stored?.targets === undefined
  return {
    ...(isOne ? { url: first.url } : { targets, balance: draft.balance }),
    ...(stored !== null && keptOf(draft, stored)),
  }
}

function keptOf({ keepsTls, keepsSecretHeaders }: BackendDraft, stored: Backend): BackendInput {
  const { timeoutMs, health, connections, waitMs, tls, secretHeaders } = stored
  const { certificate, ca } = tls ?? {}
  return {
    timeoutMs,
    ...(health !== undefined && { health }),
    ...(connections !== undefined && { connections }),
    ...(waitMs !== undefined && { waitMs }),
    ...(keepsTls && tls !== undefined && { tls: { ...(certificate && { certificate }), ...(ca && { ca }) } }),
    ...(keepsSecretHeaders && secretHeaders !== undefined && { secretHeaders }),
  }
}

/** The pointer of the URL of a target in what `toInput` returns, or of another member of the target. */
export function pointerOf(
  draft: BackendDraft,
  stored: Backend | null,
  index: number,
  member: keyof TargetDraft,
): string {
  const filled = draft.targets.filter(({ url }) => url.trim() !== '')
  if (filled.length === 1 && stored?.targets === undefined) return `/backend/${member}`
  const before = draft.targets.slice(0, index).filter(({ url }) => url.trim() !== '').length
  return `/backend/targets/${before}/${member}`
}

/** The share of the calls that a target gets by its weight, in percent. */
export function sharesOf(targets: readonly { readonly weight?: number | undefined }[]): readonly number[] {
  const sum = targets.reduce((all, { weight = 1 }) => all + weight, 0)
  return targets.map(({ weight = 1 }) => (100 * weight) / sum)
}
