"""The checks of a run as JUnit XML: one test case each, as CI servers show them."""

from xml.etree.ElementTree import Element, SubElement, indent, tostring

from runs.reports.plain import xml_text
from runs.reports.report import Report


def write_junit(report: Report) -> str:
    failed = sum(not check.passed for check in report.checks)
    counts = {"tests": str(len(report.checks)), "failures": str(failed), "errors": "0"}
    root = Element("testsuites", {"name": "evalsite", **counts})
    time = f"{report.seconds:.3f}"
    suite = SubElement(root, "testsuite", {"name": xml_text(report.title), "time": time, **counts})
    properties = SubElement(suite, "properties")
    for name, value in report.properties().items():
        SubElement(properties, "property", {"name": name, "value": xml_text(value)})
    for check in report.checks:
        case = SubElement(suite, "testcase", {"classname": "evalsite.gates", "name": check.name})
        if check.passed:
            SubElement(case, "system-out").text = xml_text(check.told)
            continue
        failure = SubElement(case, "failure", {"message": xml_text(check.told), "type": check.name})
        failure.text = xml_text("\n".join([check.told, *report.details_of(check)]))
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"
