/** Reads from the platform API for a view. While a newer answer is awaited, or if it fails, the view keeps the last one. */

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

export function useRead<Path extends ReadPath>(
  path: Path,
  { params = {}, query = {} }: Omit<ReadOptions, 'signal'> = {},
): Reading<Answer<Path>> {
  const [data, setData] = useState<{ key: string; value: Answer<Path> } | null>(null)
  const [problem, setProblem] = useState<Problem | null>(null)
  const [attempt, setAttempt] = useState(0)
  const key = JSON.stringify([path, params, query])

  useEffect(() => {
    const controller = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    read(path, { params, query, signal: controller.signal }).then(
      (value) => {
        setData({ key, value })
        setProblem(null)
      },
      (cause: unknown) => {
        if (controller.signal.aborted) return
        if (!(cause instanceof CallRefused)) throw cause
        setProblem(cause.problem)
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
    data: data?.key === key ? data.value : null,
    problem,
    reload: () => setAttempt((number) => number + 1),
  }
}

function isPassing({ status }: Problem): boolean {
  return status === 0 || status === 429 || status >= 500
}
