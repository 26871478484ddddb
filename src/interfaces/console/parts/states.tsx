/** The states of a view without its data: loading, refused, failed, empty. */

import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Reading } from '../api/use-read.ts'
import { Page } from './page.tsx'
import { texts } from '../texts.ts'

const SKELETON_AFTER_MS = 200
const FORBIDDEN = 403
const NOT_FOUND = 404

interface LoadedProps<Data> {
  readonly reading: Reading<Data>
  /** Title of the page while there is no data. */
  readonly title?: string
  readonly children: (data: Data) => ComponentChildren
}

/** Shows the data. If the last read failed, it says so, above the data that it has. */
export function Loaded<Data>({ reading, title, children }: LoadedProps<Data>) {
  const { data, problem } = reading
  const isRefused = problem?.status === FORBIDDEN || problem?.status === NOT_FOUND
  const shown = <Content reading={reading}>{children}</Content>
  return title !== undefined && (data === null || isRefused) ? <Page title={title}>{shown}</Page> : shown
}

function Content<Data>({ reading: { data, problem, reload }, children }: LoadedProps<Data>) {
  if (problem?.status === FORBIDDEN) return <Forbidden />
  if (problem?.status === NOT_FOUND) return <NotFound />
  return (
    <>
      {problem !== null && (
        <p class="notice" role="alert">
          {texts.states.failed} {problem.detail}{' '}
          {problem.requestId !== '' && (
            <span class="quiet">
              {texts.states.request} <code>{problem.requestId}</code>
            </span>
          )}{' '}
          <button type="button" onClick={reload}>
            {texts.states.retry}
          </button>
        </p>
      )}
      {data === null ? problem === null && <Skeleton /> : children(data)}
    </>
  )
}

/** Fast answers show no skeleton. */
export function Skeleton() {
  const [isShown, setShown] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), SKELETON_AFTER_MS)
    return () => clearTimeout(timer)
  }, [])
  if (!isShown) return null
  return (
    <div class="skeleton" role="status" aria-label={texts.states.loading}>
      <span />
      <span />
      <span />
    </div>
  )
}

function Forbidden() {
  return (
    <div class="empty">
      <p>{texts.states.forbidden}</p>
      <p class="quiet">{texts.states.whoGrants}</p>
    </div>
  )
}

/** For an address that is no view. */
export function NotFoundPage() {
  return (
    <Page title={texts.states.notFoundTitle}>
      <NotFound />
    </Page>
  )
}

export function NotFound() {
  return <p class="empty">{texts.states.notFound}</p>
}

interface EmptyProps {
  readonly text: string
  /** The same with the command line tool. The lines for curl are added. */
  readonly commands?: readonly string[]
}

export function Empty({ text, commands = [] }: EmptyProps) {
  const [lines, setLines] = useState(commands)
  useEffect(() => {
    const isCurrent = { value: true }
    void import('./curl-lines.ts').then(({ withCurl }) => isCurrent.value && setLines(withCurl(commands)))
    return () => {
      isCurrent.value = false
    }
  }, [commands.join('\n')])
  return (
    <div class="empty">
      <p>{text}</p>
      {lines.length > 0 && <pre tabIndex={0}>{lines.join('\n')}</pre>}
    </div>
  )
}
