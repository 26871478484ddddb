/**
 * The open episodes, as the stream changes them. Many events cost one rendering per frame.
 *
 * Rows change in place. While the list is held, because the pointer or the focus is on it, new episodes wait and cleared ones stay.
 */

import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { CallRefused, read, toUrl, type Problem } from '../../api/client.ts'
import { openStream, type StreamEvent } from '../../api/stream.ts'
import type { Risk } from './party.ts'

/** The latest event of an episode; the stream does not know mutes. */
export type LiveRisk = Omit<Risk, 'state' | 'mute'>

export interface LiveEpisodes {
  /** Newest first; null until they are known. */
  readonly rows: readonly LiveRisk[] | null
  /** Episodes that wait until they are shown. */
  readonly waiting: readonly LiveRisk[]
  readonly downSince: Date | null
  readonly problem: Problem | null
  readonly show: () => void
  readonly hold: (by: Holder, isHeld: boolean) => void
}

/** The list is held while either of them is on it. */
export type Holder = 'pointer' | 'focus'

const PAGE = '500'
const KNOWN_MAX = 1_000
/** Left when more than `KNOWN_MAX` are known. */
const KEPT = 900
const RETRY_MS = 5_000
const FORBIDDEN = 403

export function useLiveEpisodes(api: string): LiveEpisodes {
  const model = useMemo(() => createModel(), [api])
  const holders = useRef(new Set<Holder>())
  const [shown, setShown] = useState<Pick<LiveEpisodes, 'rows' | 'waiting'>>({ rows: null, waiting: [] })
  const [downSince, setDownSince] = useState<Date | null>(null)
  const [problem, setProblem] = useState<Problem | null>(null)

  useEffect(() => {
    let frame = 0
    let timer: ReturnType<typeof setTimeout> | undefined
    let isClosed = false
    let wasDown = false
    const draw = (): void => {
      frame = 0
      setShown(holders.current.size > 0 ? model.held() : model.all())
    }
    const request = (): void => void (frame ||= requestAnimationFrame(draw))
    const load = (): void => {
      model.beginLoad()
      readOpen(api).then(
        (found) => {
          if (isClosed) return
          setProblem(null)
          model.endLoad(found)
          request()
        },
        (cause: unknown) => {
          if (!(cause instanceof CallRefused)) throw cause
          if (isClosed) return
          setProblem(cause.problem)
          if (cause.problem.status !== FORBIDDEN) timer = setTimeout(load, RETRY_MS)
        },
      )
    }
    // The stream begins first, so that no event between it and the list is missed.
    const close = openStream(toUrl('/v1/events/subscribe', { query: { api } }), {
      onEvents(events) {
        model.apply(events)
        request()
      },
      onState(since) {
        setDownSince(since)
        if (wasDown && since === null) load()
        wasDown = since !== null
      },
    })
    load()
    return () => {
      isClosed = true
      close()
      clearTimeout(timer)
      cancelAnimationFrame(frame)
    }
  }, [model])

  const show = (): void => setShown(model.all())
  const hold = (by: Holder, isHeld: boolean): void => {
    if (isHeld) holders.current.add(by)
    // The focus moves from row to row: it is known only later whether it has left the list.
    else if (holders.current.delete(by)) setTimeout(() => holders.current.size === 0 && show())
  }
  return { ...shown, downSince, problem, show, hold }
}

interface Found {
  readonly items: readonly Risk[]
  /** Whether these are all open episodes. */
  readonly isComplete: boolean
}

/** The critical ones are read apart, because a page has the oldest episodes. */
async function readOpen(api: string): Promise<Found> {
  const [{ items, next }, critical] = await Promise.all([
    read('/v1/risks', { query: { api, limit: PAGE } }),
    read('/v1/risks', { query: { api, limit: PAGE, severity: 'Critical' } }),
  ])
  return { items: [...items, ...critical.items], isComplete: next === null }
}

function createModel() {
  const known = new Map<string, LiveRisk>()
  /** Cleared while the list was held. */
  const cleared = new Map<string, LiveRisk>()
  /** Changed by the stream since the list was asked for, so that the answer is older. */
  let changed: Set<string> | null = null
  let rows: readonly LiveRisk[] | null = null
  let seen: ReadonlySet<string> = new Set()

  function evict(): void {
    if (known.size <= KNOWN_MAX) return
    const oldest = [...known.values()].sort((one, other) => rankOf(one) - rankOf(other))
    for (const { riskId } of oldest.slice(0, known.size - KEPT)) known.delete(riskId)
  }

  return {
    apply(events: readonly StreamEvent[]): void {
      for (const { data } of events) {
        const event = JSON.parse(data) as LiveRisk
        const { riskId } = event
        changed?.add(riskId)
        if (event.phase !== 'cleared') known.set(riskId, event)
        else if (known.delete(riskId)) cleared.set(riskId, event)
      }
      evict()
    },
    beginLoad(): void {
      changed = new Set()
    },
    endLoad({ items, isComplete }: Found): void {
      const later = changed ?? new Set()
      changed = null
      const open = new Set(items.map(({ riskId }) => riskId))
      if (isComplete) for (const id of known.keys()) if (!open.has(id) && !later.has(id)) known.delete(id)
      for (const risk of items) if (!later.has(risk.riskId)) known.set(risk.riskId, risk)
      evict()
    },
    all() {
      cleared.clear()
      rows = [...known.values()].sort((one, other) => (one.riskId < other.riskId ? 1 : -1))
      seen = new Set(known.keys())
      return { rows, waiting: [] }
    },
    held() {
      if (rows === null) return this.all()
      rows = rows.map((each) => known.get(each.riskId) ?? cleared.get(each.riskId) ?? each)
      return { rows, waiting: [...known.values()].filter(({ riskId }) => !seen.has(riskId)) }
    },
  }
}

function rankOf({ severity, lastSeen }: LiveRisk): number {
  return (severity === 'Critical' ? Number.MAX_SAFE_INTEGER / 2 : 0) + Date.parse(lastSeen)
}
