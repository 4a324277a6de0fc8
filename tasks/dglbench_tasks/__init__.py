"""The tasks that come with dglbench; registered as any third party's would be."""
