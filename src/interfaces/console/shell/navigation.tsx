/** The sections at the left. Those of the second level show below the section that is open. */

import { BASE, path } from '../router.ts'
import { texts } from '../texts.ts'
import { scopes } from './person.ts'
import { sectionsOf } from './portal-sections.tsx'
import { maySee, type Section } from './sections.tsx'

export function Navigation({ current }: { readonly current: Section | undefined }) {
  return (
    <nav class="sections" aria-label={texts.navigation.label}>
      <ul>
        {sectionsOf(scopes.value)
          .filter((each) => each.isHidden !== true && maySee(each, scopes.value))
          .map((section) => (
            <Entry key={section.path} section={section} isCurrent={section === current} />
          ))}
      </ul>
    </nav>
  )
}

function Entry({ section, isCurrent }: { readonly section: Section; readonly isCurrent: boolean }) {
  const { path: to, title, key, children = [], preload } = section
  const shown = isCurrent ? children.filter((each) => each.isHidden !== true && maySee(each, scopes.value)) : []
  // The first view of a section has the address of the section, below which the other views are.
  const open = shown.find((each) => (each.path === to ? path.value === to : isBelow(path.value, each.path)))
  return (
    <li>
      <a
        href={BASE + to}
        aria-current={isCurrent && open === undefined ? 'page' : undefined}
        data-open={isCurrent}
        aria-keyshortcuts={`g ${key}`}
        onPointerEnter={preload}
        onFocus={preload}
      >
        {title}
      </a>
      {shown.length > 0 && (
        <ul>
          {shown.map((each) => (
            <li key={each.path}>
              <a href={BASE + each.path} aria-current={each === open ? 'page' : undefined}>
                {each.title}
              </a>
            </li>
          ))}
        </ul>
      )}
    </li>
  )
}

function isBelow(address: string, base: string): boolean {
  return address === base || address.startsWith(`${base}/`)
}
