/** Pages of a list. The cursor is part of the address, so that a page can be sent to others and the back button works. */

import { BASE, path, query } from '../router.ts'
import { texts } from '../texts.ts'

const PAGE_ITEMS = '50'

function pageQuery(): { readonly limit: string; readonly cursor: string } {
  return { limit: PAGE_ITEMS, cursor: query.value.get('cursor') ?? '' }
}

function Next({ cursor }: { readonly cursor: string | null }) {
  if (cursor === null) return null
  const next = new URLSearchParams(query.value)
  next.set('cursor', cursor)
  return (
    <p>
      <a href={`${BASE}${path.value}?${next.toString()}`}>{texts.states.more}</a>
    </p>
  )
}

export const Pages = { query: pageQuery, Next }
