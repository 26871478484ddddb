/** The address is the state of a view: its path, and its filters as the query. */

import { computed, signal } from '@preact/signals'

export const BASE = '/console/'

/** Former paths, which may be kept as bookmarks. */
const FORMER: ReadonlyMap<string, string> = new Map([['approvals', 'subscriptions/approvals']])

const address = signal(new URL(location.href))

/** The path below the console, without slashes at its ends; `''` for the overview. */
export const path = computed(() => {
  const found = address.value.pathname.slice(BASE.length).replace(/\/+$/, '')
  return FORMER.get(found) ?? found
})
export const query = computed(() => address.value.searchParams)

addEventListener('popstate', () => {
  address.value = new URL(location.href)
})

/** Returns a segment of the path as text; `''` if there is none. An address that was typed may be no encoded text. */
export function segment(index: number): string {
  const encoded = path.value.split('/')[index] ?? ''
  try {
    return decodeURIComponent(encoded)
  } catch {
    return encoded
  }
}

/** `to` is a path below the console, with its query. */
export function go(to: string): void {
  if (BASE + to === location.pathname + location.search) return
  history.pushState(null, '', BASE + to)
  address.value = new URL(location.href)
  scrollTo(0, 0)
}

/** Changes filters of the view. An empty value removes one. */
export function setQuery(changes: Readonly<Record<string, string>>): void {
  const next = new URL(location.href)
  for (const [name, value] of Object.entries(changes)) {
    if (value === '') next.searchParams.delete(name)
    else next.searchParams.set(name, value)
  }
  history.replaceState(null, '', next)
  address.value = next
}

/** Lets links within the console change the view without loading the page. */
export function followLinks(event: MouseEvent): void {
  const link = event.target instanceof Element ? event.target.closest('a') : null
  const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey
  if (link === null || !isPlain || link.target !== '' || link.hasAttribute('download')) return
  const url = new URL(link.href)
  if (url.origin !== location.origin || !url.pathname.startsWith(BASE) || url.hash !== '') return
  if (url.pathname.startsWith(`${BASE}api/`)) return
  event.preventDefault()
  go(url.pathname.slice(BASE.length) + url.search)
}
