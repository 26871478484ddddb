/** The operations of a document by tag, as links, with a search. Large documents show a part until the search narrows it. */

import { useMemo, useState } from 'preact/hooks'
import { BASE } from '../../router.ts'
import { texts } from '../../texts.ts'
import type { ApiOperation } from './document.ts'

const words = texts.apis.documentation
const SHOWN_MAX = 200

interface OperationListProps {
  readonly api: string
  readonly tab: string
  readonly operations: readonly ApiOperation[]
  /** The key of the operation that is shown. */
  readonly current: string
}

export function OperationList({ api, tab, operations, current }: OperationListProps) {
  const [search, setSearch] = useState('')
  const found = useMemo(() => operations.filter((each) => matches(each, search)), [operations, search])
  const groups = Map.groupBy(found.slice(0, SHOWN_MAX), ({ tag }) => tag)
  return (
    <nav class="operations" aria-label={words.operations}>
      <input
        type="search"
        data-search
        value={search}
        aria-label={words.search}
        placeholder={words.search}
        onInput={({ currentTarget }) => setSearch(currentTarget.value)}
      />
      {[...groups].map(([tag, members]) => (
        <section key={tag}>
          <h2>{tag === '' ? words.untagged : <bdi>{tag}</bdi>}</h2>
          <ul>
            {members.map(({ key, method, path, summary, isDeprecated }) => (
              <li key={`${method} ${path}`}>
                <a href={operationUrl(api, tab, key)} aria-current={key === current ? 'page' : undefined}>
                  <Method of={method} />{' '}
                  <bdi class={isDeprecated ? 'deprecated' : ''}>{summary === '' ? path : summary}</bdi>
                </a>
              </li>
            ))}
          </ul>
        </section>
      ))}
      <p class="quiet" role="status">
        {found.length > SHOWN_MAX ? words.part(SHOWN_MAX, found.length) : found.length === 0 ? words.noMatch : ''}
      </p>
    </nav>
  )
}

export function Method({ of }: { readonly of: string }) {
  return <code class="method">{of}</code>
}

export function operationUrl(api: string, tab: string, key: string): string {
  return `${BASE}apis/${encodeURIComponent(api)}/${tab}/${encodeURIComponent(key)}`
}

function matches({ key, method, path, summary, tag }: ApiOperation, search: string): boolean {
  const words = search.toLowerCase().split(/\s+/)
  const text = `${method} ${path} ${key} ${summary} ${tag}`.toLowerCase()
  return words.every((word) => text.includes(word))
}
