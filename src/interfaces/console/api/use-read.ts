/**
 * Reads from the platform API for a view. While a newer answer is awaited, or if it fails, the view keeps the last one.
 *
 * The last answers are kept for the views that are opened again: they show at once, and are read again.
 */

import { useEffect, useState } from 'preact/hooks'
import { CallRefused, read, type Problem, type ReadOptions } from './client.ts'
import type { Answer, ReadPath } from './operations.ts'

export interface Reading<Data> {
  readonly data: Data | null
  /** Why the last read failed. */
  readonly problem: Problem | null
  readonly reload: () => void
}

const RETRY_MS = 5_000
const KEPT_MAX = 200
const kept = new Map<string, unknown>()

/** A null path reads nothing. */
export function useRead<Path extends ReadPath>(
  path: Path | null,
  { params = {}, query = {} }: Omit<ReadOptions, 'signal'> = {},
): Reading<Answer<Path>> {
  const key = JSON.stringify([path, params, query])
  const [, setVersion] = useState(0)
  const [failed, setFailed] = useState<{ key: string; problem: Problem } | null>(null)
  const [attempt, setAttempt] = useState(0)

  useEffect(() => {
    if (path === null) return undefined
    const controller = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    read(path, { params, query, signal: controller.signal }).then(
      (value) => {
        keep(key, value)
        setFailed(null)
        setVersion((number) => number + 1)
      },
      (cause: unknown) => {
        if (controller.signal.aborted) return
        if (!(cause instanceof CallRefused)) throw cause
        setFailed({ key, problem: cause.problem })
        // It recovers without the person; a refusal would be the same again.
        if (isPassing(cause.problem)) timer = setTimeout(() => setAttempt((number) => number + 1), RETRY_MS)
      },
    )
    return () => {
      controller.abort()
      clearTimeout(timer)
    }
  }, [key, attempt])

  return {
    data: (kept.get(key) as Answer<Path> | undefined) ?? null,
    problem: failed?.key === key ? failed.problem : null,
    reload: () => setAttempt((number) => number + 1),
  }
}

/** Another person may sign in on this page. */
export function dropAnswers(): void {
  kept.clear()
}

function keep(key: string, value: unknown): void {
  kept.delete(key)
  kept.set(key, value)
  for (const oldest of kept.keys()) {
    if (kept.size <= KEPT_MAX) return
    kept.delete(oldest)
  }
}

function isPassing({ status }: Problem): boolean {
  return status === 0 || status === 429 || status >= 500
}
