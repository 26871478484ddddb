/** Loads for a view what is more than one answer of the API, such as a document. While the key changes, nothing is shown. */

import { useEffect, useState } from 'preact/hooks'
import { CallRefused, type Problem } from './client.ts'
import type { Reading } from './use-read.ts'

interface Loaded<Data> {
  readonly key: string
  readonly data: Data | null
  readonly problem: Problem | null
}

/** A null key loads nothing. `load` throws `CallRefused`. */
export function useLoaded<Data>(key: string | null, load: (signal: AbortSignal) => Promise<Data>): Reading<Data> {
  const [found, setFound] = useState<Loaded<Data> | null>(null)
  const [attempt, setAttempt] = useState(0)
  useEffect(() => {
    if (key === null) return undefined
    const controller = new AbortController()
    load(controller.signal).then(
      (data) => controller.signal.aborted || setFound({ key, data, problem: null }),
      (cause: unknown) => {
        if (controller.signal.aborted) return
        if (!(cause instanceof CallRefused)) throw cause
        setFound((before) => ({ key, data: before?.key === key ? before.data : null, problem: cause.problem }))
      },
    )
    return () => controller.abort()
  }, [key, attempt])
  const current = found?.key === key ? found : null
  return {
    data: current?.data ?? null,
    problem: current?.problem ?? null,
    reload: () => setAttempt((number) => number + 1),
  }
}
