/** The head of every view: its name, its state, and the main actions. */

import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { texts } from '../texts.ts'

/** How much of the tabs before the current one stays in sight. */
const TABS_BEFORE_PX = 64

interface PageProps {
  /** Also the title of the document. */
  readonly title: string
  /** Beside the title: the state or the severity of the object. */
  readonly state?: ComponentChildren
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}

export function Page({ title, state, actions, children }: PageProps) {
  useEffect(() => {
    document.title = `${title.slice(0, 80)} · ${texts.product}`
  }, [title])
  return (
    <>
      <div class="page-head">
        <h1>
          <bdi>{title}</bdi> {state}
        </h1>
        {actions !== undefined && <div class="actions">{actions}</div>}
      </div>
      {children}
    </>
  )
}

interface TabsProps {
  readonly label: string
  /** Path below the console, and title. The current tab is the one whose path the address has. */
  readonly tabs: readonly { readonly path: string; readonly title: string }[]
  readonly current: string
  readonly base: string
}

/** The tabs of a page are links, so that each has an address. */
export function Tabs({ label, tabs, current, base }: TabsProps) {
  const list = useRef<HTMLUListElement>(null)
  // On a narrow screen they are one row, which scrolls.
  useEffect(() => {
    const tab = list.current?.querySelector<HTMLElement>('[aria-current]')
    list.current?.scrollTo({ left: (tab?.offsetLeft ?? 0) - TABS_BEFORE_PX })
  }, [current])
  return (
    <nav class="tabs" aria-label={label}>
      <ul ref={list}>
        {tabs.map(({ path, title }) => (
          <li key={path}>
            <a href={base + path} aria-current={current === path ? 'page' : undefined}>
              {title}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  )
}
